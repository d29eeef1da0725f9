#include "engine/executorch/aten/incomplete_gamma.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <type_traits>

#include "engine/executorch/aten/gamma_coefficients.h"
#include "engine/executorch/aten/log_gamma.h"
#include "engine/executorch/aten/special_values.h"

namespace polystate {
namespace {

constexpr int kMostTerms = 2000;

// Half of the distance from 1 to the next number.
template <typename T>
constexpr T kEpsilon = std::numeric_limits<T>::epsilon() / 2;

// The fraction of Lanczos' approximation of gamma, scaled by e^g, with g = 6.0246... (from Boost).
template <typename T>
T lanczos_fraction(T x) {
  constexpr std::array<double, 13> kP = {
      0.006061842346248906525783753964555936883222, 0.5098416655656676188125178644804694509993,
      19.51992788247617482847860966235652136208,    449.9445569063168119446858607650988409623,
      6955.999602515376140356310115515198987526,    75999.29304014542649875303443598909137092,
      601859.6171681098786670226533699352302507,    3481712.15498064590882071018964774556468,
      14605578.08768506808414169982791359218571,    43338889.32467613834773723740590533316085,
      86363131.28813859145546927288977868422342,    103794043.1163445451906271053616070238554,
      56906521.91347156388090791033559122686859};
  constexpr std::array<double, 13> kQ = {
      1.0,        66.0,        1925.0,      32670.0,     357423.0,   2637558.0, 13339535.0,
      45995730.0, 105258076.0, 150917976.0, 120543840.0, 39916800.0, 0.0};
  const bool is_large = std::abs(x) > 1;  // then by powers of 1 / x, which do not overflow
  const T at = is_large ? 1 / x : x;
  T numerator = 0;
  T denominator = 0;
  for (std::size_t i = 0; i < kP.size(); ++i) {
    const std::size_t place = is_large ? kP.size() - 1 - i : i;
    numerator = numerator * at + static_cast<T>(kP[place]);
    denominator = denominator * at + static_cast<T>(kQ[place]);
  }
  return numerator / denominator;
}

// x^a e^-x / gamma(a)
template <typename T>
T common_factor(T a, T x) {
  constexpr T kLowest =
      std::is_same_v<T, double> ? T(-7.09782712893383996843e2) : T(-88.72283905206835);
  if (std::abs(a - x) > static_cast<T>(0.4) * a) {
    const T exponent = a * std::log(x) - x - log_gamma(a);
    return exponent < kLowest ? T{0} : std::exp(exponent);
  }
  constexpr T kLanczos = static_cast<T>(6.024680040776729583740234375);
  const T factor = a + kLanczos - T{0.5};
  const T root = std::sqrt(factor / std::numbers::e_v<T>) / lanczos_fraction(a);
  if (a < 200 && x < 200) return root * std::exp(a - x) * std::pow(x / factor, a);
  const T distance = (x - a - kLanczos + T{0.5}) / factor;
  return root * std::exp(a * (std::log1p(distance) - distance) + x * (T{0.5} - kLanczos) / factor);
}

// P(a, x) by its power series (DLMF 8.11.4).
template <typename T>
T lower_series(T a, T x) {
  const T factor = common_factor(a, x);
  if (factor == T{0}) return T{0};
  T sum = 1;
  T term = 1;
  for (int i = 1; i <= kMostTerms && term > kEpsilon<T> * sum; ++i) {
    term *= x / (a + static_cast<T>(i));
    sum += term;
  }
  return sum * factor / a;
}

// Q(a, x) for small x, without cancellation (DLMF 8.7.3).
template <typename T>
T upper_series(T a, T x) {
  T power = 1;
  T sum = 0;
  for (int n = 1; n < kMostTerms; ++n) {
    power *= -x / static_cast<T>(n);
    const T term = power / (a + static_cast<T>(n));
    sum += term;
    if (std::abs(term) <= kEpsilon<T> * std::abs(sum)) break;
  }
  const T exponent = a * std::log(x);
  return -std::expm1(exponent - log_gamma(1 + a)) - std::exp(exponent - log_gamma(a)) * sum;
}

// Q(a, x) by its continued fraction (DLMF 8.9.2).
template <typename T>
T upper_fraction(T a, T x) {
  const T factor = common_factor(a, x);
  if (factor == T{0}) return T{0};
  T y = 1 - a;
  T z = x + y + 1;
  T numerators[] = {1, x + 1};
  T denominators[] = {x, z * x};
  T found = numerators[1] / denominators[1];
  for (int i = 1; i <= kMostTerms; ++i) {
    y += 1;
    z += 2;
    const T weight = y * static_cast<T>(i);
    const T numerator = numerators[1] * z - numerators[0] * weight;
    const T denominator = denominators[1] * z - denominators[0] * weight;
    T change = 1;
    if (denominator != T{0}) {
      const T next = numerator / denominator;
      change = std::abs((found - next) / next);
      found = next;
    }
    // Both are made smaller before they overflow.
    const T scale = std::abs(numerator) > 1 / kEpsilon<T> ? kEpsilon<T> : T{1};
    numerators[0] = numerators[1] * scale;
    numerators[1] = numerator * scale;
    denominators[0] = denominators[1] * scale;
    denominators[1] = denominator * scale;
    if (change <= kEpsilon<T>) break;
  }
  return found * factor;
}

// The sum of the factors of a power of 1 / a.
template <typename T>
T expansion_factor(std::size_t k, T eta) {
  T sum = static_cast<T>(kUniformExpansion[k][0]);
  T power = 1;
  for (std::size_t n = 1; n < kUniformExpansion[k].size(); ++n) {
    power *= eta;
    const T term = static_cast<T>(kUniformExpansion[k][n]) * power;
    sum += term;
    if (std::abs(term) < kEpsilon<T> * std::abs(sum)) break;
  }
  return sum;
}

// Q(a, x) with a sign of 1, P(a, x) with -1, for large a near x (DLMF 8.12.3 and 8.12.4).
template <typename T>
T uniform_expansion(T a, T x, T sign) {
  const T distance = (x - a) / a;
  const T square = -2 * (std::log1p(distance) - distance);
  const T eta = std::copysign(std::sqrt(std::max(square, T{0})), distance);
  T sum = 0;
  T power = 1;
  T last = std::numeric_limits<T>::infinity();
  for (std::size_t k = 0; k < kUniformExpansion.size(); ++k) {
    const T term = expansion_factor(k, eta) * power;
    if (std::abs(term) > last) break;
    sum += term;
    if (std::abs(term) < kEpsilon<T> * std::abs(sum)) break;
    last = std::abs(term);
    power /= a;
  }
  return T{0.5} * std::erfc(sign * eta * std::sqrt(a / 2)) +
         sign * std::exp(T{-0.5} * a * eta * eta) * sum / std::sqrt(2 * std::numbers::pi_v<T> * a);
}

template <typename T>
bool has_uniform_expansion(T a, T x) {
  const T distance = std::abs(x - a) / a;
  if (a > 20 && a < 200) return distance < static_cast<T>(0.3);
  return a > 200 && distance < static_cast<T>(4.5) / std::sqrt(a);
}

// Whether P and Q are known at once: at the ends of their ranges, and outside of them.
template <typename T>
bool is_at_an_end(T a, T x) {
  return a <= T{0} || x <= T{0} || std::isinf(a) || std::isinf(x);
}

template <typename T>
T upper_at_an_end(T a, T x) {
  if (a < T{0} || x < T{0}) return kNan<T>;
  if (a == T{0}) return x > T{0} ? T{0} : kNan<T>;
  if (x == T{0}) return T{1};
  if (std::isinf(a)) return std::isinf(x) ? kNan<T> : T{1};
  return T{0};
}

template <typename T>
T upper(T a, T x) {
  if (is_at_an_end(a, x)) return upper_at_an_end(a, x);
  if (std::isnan(a) || std::isnan(x)) return kNan<T>;
  if (has_uniform_expansion(a, x)) return uniform_expansion(a, x, T{1});
  if (x > static_cast<T>(1.1)) return x < a ? 1 - lower_series(a, x) : upper_fraction(a, x);
  const T small = x <= T{0.5} ? static_cast<T>(-0.4) / std::log(x) : x * static_cast<T>(1.1);
  return small < a ? 1 - lower_series(a, x) : upper_series(a, x);
}

template <typename T>
T lower(T a, T x) {
  if (is_at_an_end(a, x)) return 1 - upper_at_an_end(a, x);
  if (has_uniform_expansion(a, x)) return uniform_expansion(a, x, T{-1});
  if (x > T{1} && x > a) return 1 - upper(a, x);
  return lower_series(a, x);
}

}  // namespace

float lower_gamma(float a, float x) { return lower(a, x); }
double lower_gamma(double a, double x) { return lower(a, x); }
float upper_gamma(float a, float x) { return upper(a, x); }
double upper_gamma(double a, double x) { return upper(a, x); }

}  // namespace polystate
