#include "cli/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace polystate::cli {
namespace {

constexpr int kFloat16MantissaBits = 10;
constexpr int kFloat16Bias = 15;
constexpr std::uint16_t kFloat16Infinity = 0x7C00;
constexpr std::uint16_t kFloat16NaN = 0x7E00;

}  // namespace

float float16_to_float(std::uint16_t bits) {
  const float sign = (bits & 0x8000U) != 0 ? -1.0F : 1.0F;
  const int exponent = (bits >> kFloat16MantissaBits) & 0x1F;
  const int mantissa = bits & 0x3FF;
  if (exponent == 0x1F) {
    return mantissa != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  const int implicit = exponent == 0 ? 0 : 1 << kFloat16MantissaBits;
  const int scale = (exponent == 0 ? 1 : exponent) - kFloat16Bias - kFloat16MantissaBits;
  return sign * std::ldexp(static_cast<float>(implicit + mantissa), scale);
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t float_to_float16(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | kFloat16NaN;
  const float magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | kFloat16Infinity;
  // In units of the last place at this magnitude, which is the smallest subnormal below 2^-14.
  const int exponent =
      magnitude == 0 ? 1 - kFloat16Bias : std::max(std::ilogb(magnitude), 1 - kFloat16Bias);
  const float units = std::nearbyint(std::ldexp(magnitude, kFloat16MantissaBits - exponent));
  // Exponent field and mantissa are one integer: a mantissa that rounds up carries into the
  // exponent, as it should.
  const auto mantissa = static_cast<std::uint32_t>(units);
  const auto field = static_cast<std::uint32_t>(exponent + kFloat16Bias - 1);
  const std::uint32_t bits = (field << kFloat16MantissaBits) + mantissa;
  return sign | static_cast<std::uint16_t>(bits < kFloat16Infinity ? bits : kFloat16Infinity);
}

std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16U) | 0x40U);
  const std::uint32_t ties_to_even = (bits >> 16U) & 1U;
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ties_to_even) >> 16U);
}

}  // namespace polystate::cli
