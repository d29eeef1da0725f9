#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <string>

#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/incomplete_gamma.h"
#include "engine/executorch/aten/log_gamma.h"
#include "engine/executorch/aten/polynomials.h"
#include "engine/executorch/aten/special_values.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

// The gamma function's relatives and Hurwitz's zeta function, as Cephes computes them.
namespace polystate {
namespace {

struct Lgamma {
  static constexpr char kName[] = "lgamma";
  static double of(double x) { return log_gamma(x); }

  // By Stirling's series from 8 on, below by the gamma function's recurrence, and below zero by its
  // reflection; in float64, without branches or calls.
  static float of(float given) {
    const double x = given;
    const bool is_negative = x < 0.0;
    const double at = is_negative ? 1.0 - x : x;
    const bool is_small = at < 8.0;
    const double low = is_small ? at : 1.0;
    const double rises = low * (low + 1.0) * (low + 2.0) * (low + 3.0) * (low + 4.0) * (low + 5.0) *
                         (low + 6.0) * (low + 7.0);
    const double z = is_small ? at + 8.0 : at;
    constexpr auto kSeries = coefficients<double>(
        {1.0 / 156, -691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260, -1.0 / 360, 1.0 / 12});
    constexpr double kHalfLogOfTwoPi = 0.918938533204672741780;
    const double of_large = (z - 0.5) * branchless::logarithm(z) - z + kHalfLogOfTwoPi +
                            polynomial(kSeries, 1.0 / (z * z)) / z;
    constexpr double kShift = 0x1.8p52;  // adding it rounds to a whole number
    const double rest = x - ((x + kShift) - kShift);
    const double sine = std::abs(branchless::sine_of_half_turns(rest));
    const double factor = is_small ? rises : 1.0;
    const double reflected = std::numbers::pi * factor / sine;
    const double correction = branchless::logarithm(is_negative ? reflected : factor);
    const auto result =
        static_cast<float>(is_negative ? correction - of_large : of_large - correction);
    const bool is_pole = (x <= 0.0) & (rest == 0.0);
    const bool is_infinite = std::abs(given) > std::numeric_limits<float>::max();
    const float found = is_pole | is_infinite ? kInfinity<float> : result;
    return given != given ? given : found;
  }
};

// For x > 0.
template <typename T>
T digamma_of_positive(T x) {
  T result = 0;
  while (x < T{10}) {
    result -= 1 / x;
    x += 1;
  }
  if (x == T{10}) return result + static_cast<T>(2.25175258906672110764);
  constexpr auto kSeries = coefficients<T>(
      {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12});
  const T z = 1 / (x * x);
  return result + std::log(x) - T{0.5} / x - z * polynomial(kSeries, z);
}

struct Digamma {
  static constexpr char kName[] = "digamma";
  // Below zero by reflection, with the tangent of the fraction, of which more digits are right.
  template <typename T>
  static T of(T x) {
    if (x == T{0}) return std::copysign(kInfinity<T>, -x);
    if (!(x < T{0})) return digamma_of_positive(x);
    if (x == std::trunc(x)) return kNan<T>;
    const double fraction = static_cast<double>(x - std::trunc(x));
    const double reflected = std::numbers::pi / std::tan(std::numbers::pi * fraction);
    return digamma_of_positive(1 - x) - static_cast<T>(reflected);
  }
};

// The sum of 1 / (q + k)^x by Euler and Maclaurin, for x > 1 and q that is no pole.
double zeta_sum(double x, double q) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon() / 2;
  double sum = std::pow(q, -x);
  double at = q;
  double term = 0.0;
  for (int i = 0; i < 9 || at <= 9.0; ++i) {
    at += 1.0;
    term = std::pow(at, -x);
    sum += term;
    if (-kEpsilon * sum < term && term < kEpsilon * sum) return sum;
  }
  sum += term * at / (x - 1.0) - 0.5 * term;
  // (2k)! / B2k
  constexpr double kFactors[] = {12.0,
                                 -720.0,
                                 30240.0,
                                 -1209600.0,
                                 47900160.0,
                                 -1.8924375803183791606e9,
                                 7.47242496e10,
                                 -2.950130727918164224e12,
                                 1.1646782814350067249e14,
                                 -4.5979787224074726105e15,
                                 1.8152105401943546773e17,
                                 -7.1661652561756670113e18};
  double factor = 1.0;
  double k = 0.0;
  for (const double divisor : kFactors) {
    factor *= x + k;
    term /= at;
    const double change = factor * term / divisor;
    sum += change;
    if (std::abs(change / sum) < kEpsilon) break;
    factor *= x + k + 1.0;
    term /= at;
    k += 2.0;
  }
  return sum;
}

// The sum's first terms where there are many below zero, as the sum of what lies on either side.
double zeta_far_below_zero(double x, double q) {
  const double fraction = q - std::floor(q);
  const double below = zeta_sum(x, 1.0 - fraction) - zeta_sum(x, 1.0 - q);
  return zeta_sum(x, fraction) + (std::fmod(x, 2.0) == 0.0 ? below : -below);
}

struct Zeta {
  static constexpr char kName[] = "special_zeta";
  template <typename T>
  static T of(T x, T q) {
    if (x == T{1}) return kInfinity<T>;
    if (x < T{1}) return kNan<T>;
    if (q <= T{0}) {
      if (q == std::floor(q)) return kInfinity<T>;
      if (x != std::floor(x)) return kNan<T>;
    }
    constexpr T kMostTerms = 1000;
    const auto sum = q < -kMostTerms ? &zeta_far_below_zero : &zeta_sum;
    return static_cast<T>(sum(static_cast<double>(x), static_cast<double>(q)));
  }
};

// The derivative of digamma.
template <typename T>
T trigamma(T x) {
  T sign = 1;
  T result = 0;
  if (x < T{0.5}) {
    sign = -1;
    constexpr T kPi = std::numbers::pi_v<T>;
    const T sine = std::sin(kPi * x);
    result -= kPi * kPi / (sine * sine);
    x = 1 - x;
  }
  for (int i = 0; i < 6; ++i, x += 1) result += 1 / (x * x);
  const T z = 1 / (x * x);
  result += (1 + 1 / (2 * x) + z * (T{1} / 6 - z * (T{1} / 30 - z * (T{1} / 42)))) / x;
  return sign * result;
}

struct PolygammaFunction {
  template <typename T>
  static T of(T order, T x) {
    if (order == T{0}) return Digamma::of(x);
    if (order == T{1}) return trigamma(x);
    const T size = std::exp(log_gamma(order + 1)) * Zeta::of(order + 1, x);
    return std::fmod(order, T{2}) == T{0} ? -size : size;
  }
};

struct Polygamma {
  static constexpr OperatorSchema kSchema{
      "aten::polygamma.out(int n, Tensor self, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    if (arguments.integer(0) < 0) {
      return Error{ErrorCode::kEngine,
                   "n is " + std::to_string(arguments.integer(0)) + ", less than 0"};
    }
    return compute_elements<kSchema>(arguments, kFloatLoops<PolygammaFunction>);
  }
};

struct Igamma {
  static constexpr char kName[] = "igamma";
  template <typename T>
  static T of(T a, T x) {
    return lower_gamma(a, x);
  }
};

struct Igammac {
  static constexpr char kName[] = "igammac";
  template <typename T>
  static T of(T a, T x) {
    return upper_gamma(a, x);
  }
};

}  // namespace

std::span<const ListedOperator> gamma_operators() {
  return listed<VectorisedOfOne<Lgamma>, OfOne<Digamma>, Polygamma, OfTwo<Igamma>, OfTwo<Igammac>,
                OfTwo<Zeta>, OfNumberAndOther<Zeta>, OfSelfAndNumber<Zeta>>();
}

}  // namespace polystate
