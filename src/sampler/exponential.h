#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace polystate::sampler {

// Loops over scores have blocks of this many, a constant that the compiler can vectorise.
constexpr std::size_t kBlock = 64;
using ScoreBlock = std::array<float, kBlock>;

// e^x for x <= 0, within 2 units in the last place; 0 where that is below the normal numbers, and
// NaN for NaN. Without branches or calls, so that loops over it are vectorised. e^x = 2^n e^r with
// |r| <= log(2) / 2; the polynomial is Cephes' expf.
inline float exponential(float x) {
  constexpr float kLowest = -87.33F;  // e^x is normal from here on
  constexpr float kLog2E = 1.44269504F;
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  constexpr float kLog2High = 0.693359375F;
  constexpr float kLog2Low = -2.12194440e-4F;
  const float clamped = x < kLowest ? kLowest : x;
  const float shifted = clamped * kLog2E + kShift;
  const float n = shifted - kShift;
  const float r = (clamped - n * kLog2High) - n * kLog2Low;
  float power = 1.9875691500e-4F;
  power = power * r + 1.3981999507e-3F;
  power = power * r + 8.3334519073e-3F;
  power = power * r + 4.1665795894e-2F;
  power = power * r + 1.6666665459e-1F;
  power = power * r + 5.0000001201e-1F;
  power = power * r * r + r + 1.0F;
  const std::uint32_t exponent =
      std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kShift) + 127U;
  const float scaled = power * std::bit_cast<float>(exponent << 23U);
  return x < kLowest ? 0.0F : scaled;
}

}  // namespace polystate::sampler
