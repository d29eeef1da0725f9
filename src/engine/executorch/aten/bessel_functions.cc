#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "engine/executorch/aten/bessel_coefficients.h"
#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/aten/near_and_far.h"
#include "engine/executorch/aten/polynomials.h"
#include "engine/executorch/aten/special_values.h"
#include "engine/executorch/operators/listed.h"

// Bessel's functions and Airy's, as Cephes computes them, of a float as of a double: far from zero
// they are off as PyTorch's are.
namespace polystate {
namespace {

template <typename T>
constexpr T kTwoOverPi = static_cast<T>(2 * std::numbers::inv_pi);
template <typename T>
constexpr T kRootOfTwoOverPi = static_cast<T>(0.797884560802865355879892119868763737);
template <typename T>
constexpr T kRootOfOneOverPi = static_cast<T>(5.64189583547756286948e-01);

// A wave's amplitude and phase for x > 5: the function is that of `cosine` and `sine`.
template <typename T>
struct Wave {
  T cosine;
  T sine;
  T in_phase;
  T in_quadrature;
  T scale;

  [[nodiscard]] T first_kind() const { return (in_phase * cosine - in_quadrature * sine) * scale; }
  [[nodiscard]] T second_kind() const { return (in_phase * sine + in_quadrature * cosine) * scale; }
};

template <typename T>
Wave<T> wave_of_order_0(T x) {
  const T z = T{25} / (x * x);
  const T phase = x - static_cast<T>(std::numbers::pi / 4);
  return {.cosine = std::cos(phase),
          .sine = std::sin(phase),
          .in_phase = polynomial(kJ0Pp<T>, z) / polynomial(kJ0Pq<T>, z),
          .in_quadrature = T{5} / x * (polynomial(kJ0Qp<T>, z) / polynomial(kJ0Qq<T>, z)),
          .scale = kRootOfTwoOverPi<T> / std::sqrt(x)};
}

template <typename T>
Wave<T> wave_of_order_1(T x) {
  const T z = T{5} / x * (T{5} / x);
  const T phase = x - static_cast<T>(3 * std::numbers::pi / 4);
  return {.cosine = std::cos(phase),
          .sine = std::sin(phase),
          .in_phase = polynomial(kJ1Pp<T>, z) / polynomial(kJ1Pq<T>, z),
          .in_quadrature = T{5} / x * (polynomial(kJ1Qp<T>, z) / polynomial(kJ1Qq<T>, z)),
          .scale = kRootOfTwoOverPi<T> / std::sqrt(x)};
}

struct BesselJ0 {
  static constexpr char kName[] = "special_bessel_j0";
  static constexpr float kFar = 5.0F;
  // By its first two roots.
  template <typename T>
  static T near(T x) {
    const T z = x * x;
    const T found = (z - static_cast<T>(5.78318596294678452118)) *
                    (z - static_cast<T>(3.04712623436620863991e+01)) * polynomial(kJ0Rp<T>, z) /
                    polynomial(kJ0Rq<T>, z);
    return z < static_cast<T>(1e-10) ? T{1} - z / T{4} : found;
  }
  template <typename T>
  static T of(T x) {
    const T size = std::abs(x);
    return size <= T{kFar} ? near(size) : wave_of_order_0(size).first_kind();
  }
};

struct BesselJ1 {
  static constexpr char kName[] = "special_bessel_j1";
  static constexpr float kFar = 5.0F;
  // By its first two roots.
  template <typename T>
  static T near(T x) {
    const T z = x * x;
    return polynomial(kJ1Rp<T>, z) / polynomial(kJ1Rq<T>, z) * x *
           (z - static_cast<T>(1.46819706421238932572e+01)) *
           (z - static_cast<T>(4.92184563216946036703e+01));
  }
  template <typename T>
  static T of(T x) {
    const T size = std::abs(x);
    if (size <= T{kFar}) return near(x);
    const T result = wave_of_order_1(size).first_kind();
    return x < T{0} ? -result : result;
  }
};

struct BesselY0 {
  static constexpr char kName[] = "special_bessel_y0";
  template <typename T>
  static T of(T x) {
    if (!(x <= T{5})) return wave_of_order_0(x).second_kind();
    if (x == T{0}) return -kInfinity<T>;
    if (x < T{0}) return kNan<T>;
    const T z = x * x;
    return polynomial(kY0Yp<T>, z) / polynomial(kY0Yq<T>, z) +
           kTwoOverPi<T> * std::log(x) * BesselJ0::of(x);
  }
};

struct BesselY1 {
  static constexpr char kName[] = "special_bessel_y1";
  template <typename T>
  static T of(T x) {
    if (!(x <= T{5})) return wave_of_order_1(x).second_kind();
    if (x == T{0}) return -kInfinity<T>;
    if (x < T{0}) return kNan<T>;
    const T z = x * x;
    return x * (polynomial(kY1Yp<T>, z) / polynomial(kY1Yq<T>, z)) +
           kTwoOverPi<T> * (BesselJ1::of(x) * std::log(x) - T{1} / x);
  }
};

// e^-x I0(x) for x >= 0.
template <typename T>
T scaled_i0(T x) {
  if (x <= T{8}) return chebyshev_series<kI0Small<T>>(x / T{2} - T{2});
  return chebyshev_series<kI0Large<T>>(T{32} / x - T{2}) / std::sqrt(x);
}

// e^-x I1(x) for x >= 0.
template <typename T>
T scaled_i1(T x) {
  if (x <= T{8}) return chebyshev_series<kI1Small<T>>(x / T{2} - T{2}) * x;
  return chebyshev_series<kI1Large<T>>(T{32} / x - T{2}) / std::sqrt(x);
}

// The same of floats. Both series are computed, without a branch between them, so that the compiler
// computes several numbers at once.
float scaled_i0(float x) {
  const float near = chebyshev_series<kI0Small<float>>(std::min(x, 8.0F) / 2.0F - 2.0F);
  const float far = chebyshev_series<kI0Large<float>>(32.0F / std::max(x, 8.0F) - 2.0F);
  return branchless::chosen(x <= 8.0F, near, far / std::sqrt(x));
}

float scaled_i1(float x) {
  const float near = chebyshev_series<kI1Small<float>>(std::min(x, 8.0F) / 2.0F - 2.0F);
  const float far = chebyshev_series<kI1Large<float>>(32.0F / std::max(x, 8.0F) - 2.0F);
  return branchless::chosen(x <= 8.0F, near * x, far / std::sqrt(x));
}

template <typename T>
T with_sign_of(T sign, T size) {
  return sign < T{0} ? -size : size;
}

struct ScaledI0 {
  static constexpr char kName[] = "special_i0e";
  template <typename T>
  static T of(T x) {
    return scaled_i0(std::abs(x));
  }
};

struct ScaledI1 {
  static constexpr char kName[] = "special_i1e";
  template <typename T>
  static T of(T x) {
    return with_sign_of(x, scaled_i1(std::abs(x)));
  }
};

double power_of_e(double x) { return std::exp(x); }
float power_of_e(float x) { return branchless::exponential_of_any(x); }

template <typename T>
T modified_i0(T x) {
  return power_of_e(std::abs(x)) * scaled_i0(std::abs(x));
}

template <typename T>
T modified_i1(T x) {
  return with_sign_of(x, power_of_e(std::abs(x)) * scaled_i1(std::abs(x)));
}

struct I0 {
  static constexpr char kName[] = "i0";
  template <typename T>
  static T of(T x) {
    return modified_i0(x);
  }
};

struct I1 {
  static constexpr char kName[] = "special_i1";
  template <typename T>
  static T of(T x) {
    return modified_i1(x);
  }
};

struct ModifiedI0 {
  static constexpr char kName[] = "special_modified_bessel_i0";
};

struct ModifiedI1 {
  static constexpr char kName[] = "special_modified_bessel_i1";
};

// For 0 < x <= 2.
template <typename T>
T small_k0(T x) {
  return chebyshev_series<kK0Small<T>>(x * x - T{2}) - std::log(T{0.5} * x) * modified_i0(x);
}

template <typename T>
T small_k1(T x) {
  return std::log(T{0.5} * x) * modified_i1(x) + chebyshev_series<kK1Small<T>>(x * x - T{2}) / x;
}

// At zero and below.
template <typename T>
T outside_of_k(T x) {
  return x == T{0} ? kInfinity<T> : kNan<T>;
}

struct ModifiedK0 {
  static constexpr char kName[] = "special_modified_bessel_k0";
  template <typename T>
  static T of(T x) {
    if (x <= T{0}) return outside_of_k(x);
    if (x <= T{2}) return small_k0(x);
    return std::exp(-x) * chebyshev_series<kK0Large<T>>(T{8} / x - T{2}) / std::sqrt(x);
  }
};

struct ModifiedK1 {
  static constexpr char kName[] = "special_modified_bessel_k1";
  template <typename T>
  static T of(T x) {
    if (x <= T{0}) return outside_of_k(x);
    if (x <= T{2}) return small_k1(x);
    return std::exp(-x) * chebyshev_series<kK1Large<T>>(T{8} / x - T{2}) / std::sqrt(x);
  }
};

struct ScaledK0 {
  static constexpr char kName[] = "special_scaled_modified_bessel_k0";
  template <typename T>
  static T of(T x) {
    if (x <= T{0}) return outside_of_k(x);
    if (x <= T{2}) return small_k0(x) * std::exp(x);
    return chebyshev_series<kK0Large<T>>(T{8} / x - T{2}) / std::sqrt(x);
  }
};

struct ScaledK1 {
  static constexpr char kName[] = "special_scaled_modified_bessel_k1";
  template <typename T>
  static T of(T x) {
    if (x <= T{0}) return outside_of_k(x);
    if (x <= T{2}) return small_k1(x) * std::exp(x);
    return chebyshev_series<kK1Large<T>>(T{8} / x - T{2}) / std::sqrt(x);
  }
};

struct SphericalJ0 {
  static constexpr char kName[] = "special_spherical_bessel_j0";
  // Near zero by the sine's own series.
  template <typename T>
  static T of(T x) {
    if (std::isinf(x)) return T{0};
    if (!(std::abs(x) < T{0.5})) return std::sin(x) / x;
    constexpr auto kSeries = coefficients<T>(
        {1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0});
    return polynomial(kSeries, x * x);
  }
};

// For x < -2.09.
template <typename T>
T airy_wave(T x) {
  const T angle = T{-2} * x * std::sqrt(-x) / T{3};
  const T z = T{1} / angle;
  const T phase = angle + static_cast<T>(std::numbers::pi / 4);
  const T in_phase = T{1} + z * z * polynomial(kAiryAfn<T>, z * z) / polynomial(kAiryAfd<T>, z * z);
  const T in_quadrature = z * polynomial(kAiryAgn<T>, z * z) / polynomial(kAiryAgd<T>, z * z);
  return kRootOfOneOverPi<T> / std::sqrt(std::sqrt(-x)) *
         (std::sin(phase) * in_phase - std::cos(phase) * in_quadrature);
}

// The two Taylor series of which Ai is a sum, for -2.09 <= x < 2.09.
template <typename T>
T airy_series(T x) {
  const T cube = x * x * x;
  T even = 1;
  T odd = x;
  T even_term = 1;
  T odd_term = x;
  T change = 1;
  for (T k = 1; change > std::numeric_limits<T>::epsilon(); k += 3) {
    even_term *= cube / ((k + 1) * (k + 2));
    odd_term *= cube / ((k + 2) * (k + 3));
    even += even_term;
    odd += odd_term;
    change = std::abs(even_term / even);
  }
  return static_cast<T>(0.355028053887817239260) * even -
         static_cast<T>(0.258819403792806798405) * odd;
}

struct AiryAi {
  static constexpr char kName[] = "special_airy_ai";
  template <typename T>
  static T of(T x) {
    if (std::isinf(x)) return kNan<T>;  // as PyTorch's
    if (x > static_cast<T>(103.892)) return T{0};
    if (x < static_cast<T>(-2.09)) return airy_wave(x);
    if (!(x >= static_cast<T>(2.09))) return airy_series(x);
    const T zeta = T{2} * x * std::sqrt(x) / T{3};
    return kRootOfOneOverPi<T> *
           (polynomial(kAiryAn<T>, T{1} / zeta) / polynomial(kAiryAd<T>, T{1} / zeta)) /
           (T{2} * std::sqrt(std::sqrt(x)) * std::exp(zeta));
  }
};

// Whose operand PyTorch calls x.
constexpr char kFormOfX[] = ".out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)";
template <typename Function>
using OfX = OfFloats<Function, kFormOfX>;

}  // namespace

std::span<const ListedOperator> bessel_operators() {
  return listed<VectorisedOfOne<I0>, VectorisedOfOne<ScaledI0>, VectorisedOfOne<I1>,
                VectorisedOfOne<ScaledI1>, OfNearAndFar<BesselJ0, kAtenNamespace>,
                OfNearAndFar<BesselJ1, kAtenNamespace>, OfOne<BesselY0>, OfOne<BesselY1>,
                VectorisedOfOne<ModifiedI0, I0>, VectorisedOfOne<ModifiedI1, I1>, OfOne<ModifiedK0>,
                OfOne<ModifiedK1>, OfX<ScaledK0>, OfX<ScaledK1>, OfX<SphericalJ0>, OfX<AiryAi>>();
}

}  // namespace polystate
