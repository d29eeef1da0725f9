#include <cmath>
#include <numbers>
#include <span>
#include <type_traits>

#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/polynomials.h"
#include "engine/executorch/aten/special_values.h"
#include "engine/executorch/operators/listed.h"

// Functions of the normal distribution: of the error function, and its inverse.
namespace polystate {
namespace {

template <typename T>
constexpr T kRootOfHalf = static_cast<T>(std::numbers::sqrt2 / 2);

struct Erfc {
  static constexpr char kName[] = "erfc";
  static double of(double x) { return std::erfc(x); }
  static float of(float x) { return branchless::error_function_complement(x); }
};

// For x large enough that the series (DLMF 7.12.1) is exact to the type's last digits.
template <typename T>
T scaled_tail(T x) {
  constexpr auto kSeries =
      coefficients<T>({654729075, -34459425, 2027025, -135135, 10395, -945, 105, -15, 3, -1, 1});
  constexpr T kRoot = static_cast<T>(std::numbers::inv_sqrtpi);
  return kRoot / x * polynomial(kSeries, T{0.5} / x / x);
}

// e^(x^2) erfc(x). Above zero the square's rounding error is made up for, which PyTorch's table
// does not have; below it is as large as PyTorch's.
template <typename T>
T scaled_erfc(T x) {
  constexpr T kTail = std::is_same_v<T, float> ? T{6} : T{10};
  if (x > kTail) return scaled_tail(x);
  const T square = x * x;
  if (x < T{0}) return std::exp(square) * std::erfc(x);
  return std::exp(square) * (std::erfc(x) * (T{1} + std::fma(x, x, -square)));
}

struct Erfcx {
  static constexpr char kName[] = "special_erfcx";
  template <typename T>
  static T of(T x) {
    return scaled_erfc(x);
  }
};

struct LogNdtr {
  static constexpr char kName[] = "special_log_ndtr";
  template <typename T>
  static T of(T x) {
    const T t = x * kRootOfHalf<T>;
    if (x < T{-1}) return std::log(scaled_erfc(-t) / 2) - t * t;
    return std::log1p(-std::erfc(t) / 2);
  }
};

struct Erfinv {
  static constexpr char kName[] = "erfinv";

  // Giles' polynomials in the logarithm of 1 - y^2, and in its root for the tail; without branches
  // or calls.
  static float of(float y) {
    const float square_to_one = (1.0F - y) * (1.0F + y);
    const float size = -branchless::logarithm(square_to_one);
    constexpr auto kMiddle = coefficients<float>({2.81022636e-08, 3.43273939e-07, -3.5233877e-06,
                                                  -4.39150654e-06, 2.1858087e-04, -1.25372503e-03,
                                                  -4.17768164e-03, 2.46640727e-01, 1.50140941});
    constexpr auto kTail = coefficients<float>({-2.00214257e-04, 1.00950558e-04, 1.34934322e-03,
                                                -3.67342844e-03, 5.73950773e-03, -7.6224613e-03,
                                                9.43887047e-03, 1.00167406, 2.83297682});
    const float of_middle = polynomial(kMiddle, size - 2.5F);
    const float of_tail = polynomial(kTail, std::sqrt(size) - 3.0F);
    const float result = y * (size < 5.0F ? of_middle : of_tail);
    const float at_end = y > 0.0F ? kInfinity<float> : -kInfinity<float>;
    const float outside = square_to_one == 0.0F ? at_end : kNan<float>;
    return square_to_one > 0.0F ? result : outside;
  }

  // By the inverse of the normal distribution (Wichura's AS 241), which has a fraction of
  // polynomials around 1/2 and two for the tail, in the root of its logarithm.
  static double of(double y) {
    const double half = y / 2.0;  // how far from 1/2 the distribution is
    if (std::abs(half) <= 0.425) {
      return half * of_middle(0.180625 - half * half) * kRootOfHalf<double>;
    }
    if (std::isnan(y) || std::abs(y) > 1.0) return kNan<double>;
    if (std::abs(y) == 1.0) return std::copysign(kInfinity<double>, y);
    const double root = std::sqrt(-std::log(0.5 - std::abs(half)));
    const double size = root <= 5.0 ? of_near_tail(root - 1.6) : of_far_tail(root - 5.0);
    return std::copysign(size * kRootOfHalf<double>, y);
  }

 private:
  static double of_middle(double r) {
    constexpr auto kP = coefficients<double>({2.5090809287301226727e3, 3.3430575583588128105e4,
                                              6.7265770927008700853e4, 4.5921953931549871457e4,
                                              1.3731693765509461125e4, 1.9715909503065514427e3,
                                              1.3314166789178437745e2, 3.3871328727963666080});
    constexpr auto kQ = coefficients<double>({5.2264952788528545610e3, 2.8729085735721942674e4,
                                              3.9307895800092710610e4, 2.1213794301586595867e4,
                                              5.3941960214247511077e3, 6.8718700749205790830e2,
                                              4.2313330701600911252e1, 1.0});
    return polynomial(kP, r) / polynomial(kQ, r);
  }

  static double of_near_tail(double r) {
    constexpr auto kP = coefficients<double>({7.74545014278341407640e-4, 2.27238449892691845833e-2,
                                              2.41780725177450611770e-1, 1.27045825245236838258,
                                              3.64784832476320460504, 5.76949722146069140550,
                                              4.63033784615654529590, 1.42343711074968357734});
    constexpr auto kQ = coefficients<double>({1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                              1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                              6.89767334985100004550e-1, 1.67638483018380384940,
                                              2.05319162663775882187, 1.0});
    return polynomial(kP, r) / polynomial(kQ, r);
  }

  static double of_far_tail(double r) {
    constexpr auto kP = coefficients<double>({2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                              1.24266094738807843860e-3, 2.65321895265761230930e-2,
                                              2.96560571828504891230e-1, 1.78482653991729133580,
                                              5.46378491116411436990, 6.65790464350110377720});
    constexpr auto kQ = coefficients<double>({2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                              1.84631831751005468180e-5, 7.86869131145613259100e-4,
                                              1.48753612908506148525e-2, 1.36929880922735805310e-1,
                                              5.99832206555887937690e-1, 1.0});
    return polynomial(kP, r) / polynomial(kQ, r);
  }
};

struct Ndtri {
  static constexpr char kName[] = "special_ndtri";
  // As Cephes computes it: around 1/2, and in the tail by fractions of polynomials in its place.
  template <typename T>
  static T of(T y) {
    if (y == T{0}) return -kInfinity<T>;
    if (y == T{1}) return kInfinity<T>;
    if (!(y > T{0} && y < T{1})) return kNan<T>;
    constexpr T kTail = static_cast<T>(0.13533528323661269189);  // e^-2
    const bool is_upper = y > T{1} - kTail;
    if (is_upper) y = T{1} - y;
    if (y > kTail) return of_middle(y - T{0.5});
    const T x = std::sqrt(T{-2} * std::log(y));
    const T result = x - std::log(x) / x - (x < T{8} ? near_tail(T{1} / x) : far_tail(T{1} / x));
    return is_upper ? result : -result;
  }

 private:
  template <typename T>
  static T of_middle(T y) {
    constexpr auto kP = coefficients<T>({-5.99633501014107895267e1, 9.80010754185999661536e1,
                                         -5.66762857469070293439e1, 1.39312609387279679503e1,
                                         -1.23916583867381258016e0});
    constexpr auto kQ = coefficients<T>({1.0, 1.95448858338141759834e0, 4.67627912898881538453e0,
                                         8.63602421390890590575e1, -2.25462687854119370527e2,
                                         2.00260212380060660359e2, -8.20372256168333339912e1,
                                         1.59056225126211695515e1, -1.18331621121330003142e0});
    constexpr T kRootOfTwoPi = static_cast<T>(2.50662827463100050242);
    const T square = y * y;
    return (y + y * (square * polynomial(kP, square) / polynomial(kQ, square))) * kRootOfTwoPi;
  }

  template <typename T>
  static T near_tail(T z) {
    constexpr auto kP = coefficients<T>(
        {4.05544892305962419923e0, 3.15251094599893866154e1, 5.71628192246421288162e1,
         4.40805073893200834700e1, 1.46849561928858024014e1, 2.18663306850790267539e0,
         -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4});
    constexpr auto kQ = coefficients<T>({1.0, 1.57799883256466749731e1, 4.53907635128879210584e1,
                                         4.13172038254672030440e1, 1.50425385692907503408e1,
                                         2.50464946208309415979e0, -1.42182922854787788574e-1,
                                         -3.80806407691578277194e-2, -9.33259480895457427372e-4});
    return z * polynomial(kP, z) / polynomial(kQ, z);
  }

  template <typename T>
  static T far_tail(T z) {
    constexpr auto kP = coefficients<T>(
        {3.23774891776946035970e0, 6.91522889068984211695e0, 3.93881025292474443415e0,
         1.33303460815807542389e0, 2.01485389549179081538e-1, 1.23716634817820021358e-2,
         3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9});
    constexpr auto kQ = coefficients<T>({1.0, 6.02427039364742014255e0, 3.67983563856160859403e0,
                                         1.37702099489081330271e0, 2.16236993594496635890e-1,
                                         1.34204006088543189037e-2, 3.28014464682127739104e-4,
                                         2.89247864745380683936e-6, 6.79019408009981274425e-9});
    return z * polynomial(kP, z) / polynomial(kQ, z);
  }
};

}  // namespace

std::span<const ListedOperator> error_function_operators() {
  return listed<VectorisedOfOne<Erfc>, OfOne<Erfcx>, VectorisedOfOne<Erfinv>, OfOne<LogNdtr>,
                OfOne<Ndtri>>();
}

}  // namespace polystate
