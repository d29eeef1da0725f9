#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

#include "engine/executorch/aten/polynomials.h"

// Functions without branches or calls, so that a compiler can compute several numbers at once.
namespace polystate::branchless {

// `x` or `y`, by their bits: where a condition chooses twice, a compiler may make branches of it.
inline float chosen(bool is_first, float x, float y) {
  const std::uint32_t mask = is_first ? ~0U : 0U;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(x) & mask) |
                              (std::bit_cast<std::uint32_t>(y) & ~mask));
}

// A number of at most 2^22 as the nearest whole one and what is left, from -1/2 to 1/2.
struct NearestWhole {
  float number;
  float rest;
  std::uint32_t bits;  // `number`, modulo 2^32
};

inline NearestWhole nearest_whole(float x) {
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  const float shifted = x + kShift;
  const float whole = shifted - kShift;
  return {whole, x - whole,
          std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kShift)};
}

// e^x as 1 + `above_one`, which is around 1, times a power of two.
struct Exponential {
  float above_one;
  std::uint32_t exponent;  // of two, modulo 2^32
};

// For -104 <= x <= 88.75. Cephes' polynomial.
inline Exponential exponential_parts(float x) {
  const NearestWhole twos = nearest_whole(x * std::numbers::log2e_v<float>);
  const float r = (x - twos.number * 0.693359375F) + twos.number * 2.12194440e-4F;
  constexpr auto kSeries = coefficients<float>({1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3,
                                                4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1});
  return {polynomial(kSeries, r) * r * r + r, twos.bits};
}

// e^x for x <= 0, within 2 units in the last place; 0 where that is no normal number.
inline float exponential(float x) {
  constexpr float kLowest = -87.33F;
  const Exponential parts = exponential_parts(x < kLowest ? kLowest : x);
  const float power = std::bit_cast<float>((parts.exponent + 127U) << 23U);
  const float result = (parts.above_one + 1.0F) * power;
  return x < kLowest ? 0.0F : result;
}

// `x` times a power of two, in two factors: neither 2^128 nor 2^-150 is a float.
inline float scaled(float x, std::int32_t exponent) {
  const std::int32_t half = exponent >> 1;  // NOLINT(bugprone-signed-bitwise): rounded down
  const auto power_of_two = [](std::int32_t power) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(power + 127) << 23U);
  };
  return x * power_of_two(half) * power_of_two(exponent - half);
}

// e^x within 2 units in the last place, of every x.
inline float exponential_of_any(float x) {
  constexpr float kLowest = -104.0F;  // less than half of the smallest number
  constexpr float kHighest = 88.75F;  // infinite
  const float raised = x < kLowest ? kLowest : x;
  const Exponential parts = exponential_parts(raised > kHighest ? kHighest : raised);
  return scaled(parts.above_one + 1.0F, static_cast<std::int32_t>(parts.exponent));
}

// 2^x within 2 units in the last place, of every x; exact where x is whole.
inline float binary_exponential_of_any(float x) {
  constexpr float kLowest = -151.0F;  // less than half of the smallest number
  constexpr float kHighest = 128.0F;  // infinite
  const float raised = x < kLowest ? kLowest : x;
  const NearestWhole power = nearest_whole(raised > kHighest ? kHighest : raised);
  const Exponential parts = exponential_parts(power.rest * std::numbers::ln2_v<float>);
  return scaled(parts.above_one + 1.0F, static_cast<std::int32_t>(parts.exponent + power.bits));
}

// e^x - 1 within 2 units in the last place, of every x.
inline float exponential_less_one(float x) {
  constexpr float kFar = 20.0F;  // where the one is lost
  const float raised = x < -kFar ? -kFar : x;
  const Exponential parts = exponential_parts(raised > kFar ? kFar : raised);
  const float power = std::bit_cast<float>((parts.exponent + 127U) << 23U);
  const float near = parts.above_one * power + (power - 1.0F);
  const float found = x > kFar ? exponential_of_any(x) : near;
  return x == 0.0F ? x : found;  // -0, too
}

// A normal number above 0 as (1 + r) * 2^e, and log(1 + r) = r + tail - r^2 / 2. Cephes'
// polynomial.
struct Logarithm {
  float e;
  float r;
  float tail;
};

inline Logarithm logarithm_parts(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const float whole = static_cast<float>(static_cast<std::int32_t>(bits >> 23U) - 126);
  const float fraction = std::bit_cast<float>((bits & 0x007FFFFFU) | 0x3F000000U);  // from 1/2 to 1
  const bool is_low = fraction < std::numbers::sqrt2_v<float> / 2;
  const float e = is_low ? whole - 1.0F : whole;
  const float r = (is_low ? fraction + fraction : fraction) - 1.0F;
  constexpr auto kSeries = coefficients<float>(
      {7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
       -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1});
  return {e, r, polynomial(kSeries, r) * r * (r * r)};
}

// Of a normal number above 0, within 2 units in the last place.
inline float logarithm(float x) {
  const Logarithm parts = logarithm_parts(x);
  const float rest = parts.tail - parts.e * 2.12194440e-4F - 0.5F * (parts.r * parts.r);
  return (parts.r + rest) + parts.e * 0.693359375F;
}

// The same to the base 2; exact for powers of two.
inline float binary_logarithm(float x) {
  const Logarithm parts = logarithm_parts(x);
  const float natural = parts.r + (parts.tail - 0.5F * (parts.r * parts.r));
  return natural * std::numbers::log2e_v<float> + parts.e;
}

// By a logarithm of normal numbers above 0, and what that is of 2^23.
template <float (*kLogarithm)(float)>
float logarithm_of_any(float x, float of_two_power_23) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kTwoPower23 = 8388608.0F;
  const bool is_small = x < std::numeric_limits<float>::min();
  const float found = kLogarithm(is_small ? x * kTwoPower23 : x);
  const float finite = is_small ? found - of_two_power_23 : found;
  const float positive = x < kInfinity ? finite : x;  // NaN, too
  const float at_most_zero = x < 0.0F ? std::numeric_limits<float>::quiet_NaN() : -kInfinity;
  return x <= 0.0F ? at_most_zero : positive;
}

// Within 2 units in the last place, of every x.
inline float logarithm_of_any(float x) { return logarithm_of_any<&logarithm>(x, 15.9423847F); }
inline float binary_logarithm_of_any(float x) {
  return logarithm_of_any<&binary_logarithm>(x, 23.0F);
}

// 1 less the error function: e^(-x^2) p(q) / (x + 2) with q = (x - 2) / (x + 2), by a polynomial
// that is the nearest for x up to 10.
inline float error_function_complement(float x) {
  const float given = x < 0.0F ? -x : x;
  const float size = given > 10.0F ? 10.0F : given;
  constexpr auto kSeries = coefficients<float>(
      {-4.61478848e-4, -7.54677535e-4, 2.979055923e-3, 6.437296716e-3, -2.1483577612e-2,
       -3.6435186505e-2, 2.79469631217e-1, -6.87160973318e-1, 1.021582742907});
  const float reciprocal = 1.0F / (size + 2.0F);
  const float factor = polynomial(kSeries, (size - 2.0F) * reciprocal) * reciprocal;
  // The square's rounding error is made up for: the power would be off by as much.
  const float square = size * size;
  const auto high = std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) & 0xFFFFF000U);
  const float low = size - high;
  const float error = ((square - high * high) - 2.0F * high * low) - low * low;
  const float tail = factor * exponential(-square) * (1.0F + error);
  return x < 0.0F ? 2.0F - tail : tail;
}

// log(1 + x) within 2 units in the last place, of every x: by the logarithm of what 1 + x is
// rounded to, and the share that the rounding took.
inline float logarithm_of_one_and(float x) {
  const float sum = 1.0F + x;
  const float lost = (x - (sum - 1.0F)) / sum;
  const float found = logarithm_of_any(sum);
  const bool is_exact = sum == 0.0F || sum > std::numeric_limits<float>::max();
  const float corrected = is_exact ? found : found + lost;
  return x == 0.0F ? x : corrected;  // -0, too
}

// The logarithm to the base 2 of a normal number above 0, by a series for
// atanh(t) * 2 / (t * log 2) in t^2, up to 0.0295.
template <std::size_t kCount>
double binary_logarithm(const std::array<double, kCount>& series, double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  // The number 2^52 + n has n for its last bits.
  constexpr std::uint64_t kShift = 0x4330000000000000U;
  const double whole = std::bit_cast<double>((bits >> 52U) | kShift) - (0x1p52 + 1022.0);
  const double fraction = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFU) | 0x3FE0000000000000U);
  const bool is_low = fraction < std::numbers::sqrt2 / 2;
  const double e = is_low ? whole - 1.0 : whole;
  const double m = is_low ? fraction + fraction : fraction;
  const double t = (m - 1.0) / (m + 1.0);
  return e + t * polynomial(series, t * t);
}

// Within 1e-15 of its size or of 1.
inline double logarithm(double x) {
  constexpr double kFactor = 2.0 * std::numbers::log2e;
  constexpr auto kSeries = coefficients<double>(
      {kFactor / 21, kFactor / 19, kFactor / 17, kFactor / 15, kFactor / 13, kFactor / 11,
       kFactor / 9, kFactor / 7, kFactor / 5, kFactor / 3, kFactor});
  return std::numbers::ln2 * binary_logarithm(kSeries, x);
}

// x^y for a normal number x above 0, for float32: within 1e-9 of its size. What float32 cannot hold
// is larger than 2^199 or smaller than its reciprocal.
inline double power(double x, double y) {
  // The nearest polynomials, within 4e-12 and 6e-11.
  constexpr auto kLogarithm =
      coefficients<double>({0.34071206223842165, 0.4116737650303214, 0.5770835660253516,
                            0.9617966734514591, 2.885390081789987});
  constexpr auto kPower =
      coefficients<double>({1.5303701125383214e-05, 1.5469729211689803e-04, 1.3333478471927386e-03,
                            9.618025613324529e-03, 5.5504109063279704e-02, 2.4022651213498095e-01,
                            6.931471805568319e-01, 9.999999999595615e-01});
  const double logarithm = y * binary_logarithm(kLogarithm, x);
  const double raised = logarithm > -200.0 ? logarithm : -200.0;
  const double bounded = raised < 200.0 ? raised : 200.0;
  constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number
  const double shifted = bounded + kShift;
  const double rest = bounded - (shifted - kShift);
  const std::uint64_t exponent =
      std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(kShift) + 1023U;
  return polynomial(kPower, rest) * std::bit_cast<double>(exponent << 52U);
}

// sin(pi x) for -1/2 <= x <= 1/2, within 1e-15 of its size.
inline double sine_of_half_turns(double x) {
  constexpr double kSquare = std::numbers::pi * std::numbers::pi;
  constexpr auto kSeries =
      coefficients<double>({-1.0 / 121645100408832000.0, 1.0 / 355687428096000.0,
                            -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
                            1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0});
  return std::numbers::pi * x * polynomial(kSeries, kSquare * x * x);
}

}  // namespace polystate::branchless
