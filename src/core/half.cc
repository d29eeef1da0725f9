#include "core/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace polystate {
namespace {

constexpr std::uint32_t kMantissaBits = 10;  // of float16
constexpr int kBias = 15;
constexpr int kUnitExponent = kMantissaBits;  // the last place of 1 is 2^-10
constexpr float kImplicitBit = 1024;          // in units of the last place
constexpr std::uint32_t kSign = 0x8000;
constexpr std::uint32_t kExponentMask = 0x1F;
constexpr std::uint32_t kMantissaMask = 0x3FF;
constexpr std::uint32_t kInfinity = kExponentMask << kMantissaBits;
constexpr std::uint32_t kNaN = kInfinity | 0x200U;

}  // namespace

float float16_to_float(std::uint16_t bits) {
  const std::uint32_t pattern = bits;
  const float sign = (pattern & kSign) != 0 ? -1.0F : 1.0F;
  const std::uint32_t exponent = (pattern >> kMantissaBits) & kExponentMask;
  const std::uint32_t mantissa = pattern & kMantissaMask;
  if (exponent == kExponentMask) {
    return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  const float units = static_cast<float>(mantissa) + (exponent == 0 ? 0 : kImplicitBit);
  const int scale = std::max(static_cast<int>(exponent), 1) - kBias - kUnitExponent;
  return sign * std::ldexp(units, scale);
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t float_to_float16(float value) {
  const std::uint32_t sign = std::signbit(value) ? kSign : 0;
  const float magnitude = std::fabs(value);
  std::uint32_t bits = kInfinity;
  if (std::isnan(value)) {
    bits = kNaN;
  } else if (std::isfinite(value)) {
    // In units of the last place at this magnitude, which are those of 2^-14 for all that is less.
    constexpr int kSmallest = 1 - kBias;
    const int exponent = magnitude == 0 ? kSmallest : std::max(std::ilogb(magnitude), kSmallest);
    const float units = std::nearbyint(std::ldexp(magnitude, kUnitExponent - exponent));
    // Exponent and mantissa are one integer: a mantissa that rounds up carries into the exponent,
    // as it should.
    const auto field = static_cast<std::uint32_t>(exponent - kSmallest);
    bits = std::min((field << kMantissaBits) + static_cast<std::uint32_t>(units), kInfinity);
  }
  return static_cast<std::uint16_t>(sign | bits);
}

std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  const std::uint32_t ties_to_even = (bits >> 16U) & 1U;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ties_to_even) >> 16U);
}

}  // namespace polystate
