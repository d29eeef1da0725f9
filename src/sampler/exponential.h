#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sampler/score_block.h"

namespace polystate::sampler {

// e^x for x <= 0, within 2 units in the last place; 0 where that is below the normal numbers, and
// NaN for NaN. Without branches or calls, so that loops over it are vectorised; a mask of bits
// takes the place of a branch. e^x = 2^n e^r with |r| <= log(2) / 2; the polynomial is Cephes'
// expf.
inline float exponential(float x) {
  constexpr float kLowest = -87.33F;  // e^x is normal from here on
  constexpr float kLog2E = 1.44269504F;
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  constexpr float kLog2High = 0.693359375F;
  constexpr float kLog2Low = -2.12194440e-4F;
  const std::uint32_t in_range = 0U - static_cast<std::uint32_t>(!(x < kLowest));
  const auto bounded = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & in_range);
  const float shifted = bounded * kLog2E + kShift;
  const float n = shifted - kShift;
  const float r = (bounded - n * kLog2High) - n * kLog2Low;
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
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) & in_range);
}

// e^x for x <= 0 as a term of a sum whose largest one is 1: in a third of the time, as exact as a
// sum in float32 needs it, and never quite 0. e^x = 2^n 2^r with |r| <= 1/2; the polynomial, the
// nearest to 2^r that is 1 at 0, is summed in pairs, so that few operations wait for another. NaN
// gives some number.
inline float exponential_term(float x) {
  constexpr float kLowest = -87.0F;
  constexpr float kLog2E = 1.44269504F;
  constexpr float kShift = 12582912.0F;
  // The larger of both: of negative numbers that with the smaller bits.
  const std::uint32_t bounded =
      std::min(std::bit_cast<std::uint32_t>(x), std::bit_cast<std::uint32_t>(kLowest));
  const float power_of_two = std::bit_cast<float>(bounded) * kLog2E;
  const float shifted = power_of_two + kShift;
  const float r = power_of_two - (shifted - kShift);
  const float square = r * r;
  const float first = 6.931469776e-1F * r + 1.0F;
  const float second = 5.550733744e-2F * r + 2.402224208e-1F;
  const float third = 1.326472877e-3F * r + 9.671513184e-3F;
  const float power = (third * square + second) * square + first;
  // The lowest bits of `shifted` are n, which is added to the exponent.
  const std::uint32_t exponent = std::bit_cast<std::uint32_t>(shifted) << 23U;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(power) + exponent);
}

// e^(score - largest) of a block of scores, none of which is above `largest`.
inline ScoreBlock exponentials(const ScoreBlock& scores, float largest) {
  ScoreBlock powers{};
  for (std::size_t i = 0; i < kBlock; ++i) powers[i] = exponential(scores[i] - largest);
  return powers;
}

}  // namespace polystate::sampler
