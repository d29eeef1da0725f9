#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <type_traits>

#include "core/wrapping.h"
#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/faster.h"
#include "engine/executorch/aten/polynomials.h"
#include "engine/executorch/operators/listed.h"

// Functions of a number, and choices between two. Those of float64 call the standard library.
namespace polystate {
namespace {

constexpr char kFormOfWhere[] =
    ".self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";

struct Exp : OfFloatsAlone {
  static constexpr char kName[] = "exp";
  static float of(float x) { return branchless::exponential_of_any(x); }
  static double of(double x) { return std::exp(x); }
};

struct Exp2 : OfFloatsAlone {
  static constexpr char kName[] = "exp2";
  static float of(float x) { return branchless::binary_exponential_of_any(x); }
  static double of(double x) { return std::exp2(x); }
};

struct Expm1 : OfFloatsAlone {
  static constexpr char kName[] = "expm1";
  static float of(float x) { return branchless::exponential_less_one(x); }
  static double of(double x) { return std::expm1(x); }
};

struct Log : OfFloatsAlone {
  static constexpr char kName[] = "log";
  static float of(float x) { return branchless::logarithm_of_any(x); }
  static double of(double x) { return std::log(x); }
};

struct Log1p : OfFloatsAlone {
  static constexpr char kName[] = "log1p";
  static float of(float x) { return branchless::logarithm_of_one_and(x); }
  static double of(double x) { return std::log1p(x); }
};

struct Log2 : OfFloatsAlone {
  static constexpr char kName[] = "log2";
  static float of(float x) { return branchless::binary_logarithm_of_any(x); }
  static double of(double x) { return std::log2(x); }
};

struct Log10 : OfFloatsAlone {
  static constexpr char kName[] = "log10";
  static float of(float x) {
    return branchless::logarithm_of_any(x) * std::numbers::log10e_v<float>;
  }
  static double of(double x) { return std::log10(x); }
};

// The logarithm of 2^x + 2^y, to the base 2.
struct Logaddexp2 : OfFloatsAlone {
  static constexpr char kName[] = "logaddexp2";
  static float of(float x, float y) {
    const float larger = x < y ? y : x;
    const float gap = x == y ? 0.0F : std::abs(x - y);  // of infinities, too
    const float power = branchless::binary_exponential_of_any(-gap);
    const float sum = 1.0F + power;
    const float lost = (power - (sum - 1.0F)) / sum;
    return larger + (branchless::binary_logarithm(sum) + lost * std::numbers::log2e_v<float>);
  }
  static double of(double x, double y) {
    const double more = std::log1p(std::exp2(-std::abs(x - y))) * std::numbers::log2e;
    return x == y ? x + 1.0 : std::max(x, y) + more;
  }
};

struct Sigmoid : OfFloatsAlone {
  static constexpr char kName[] = "sigmoid";
  static float of(float x) { return 1.0F / (1.0F + branchless::exponential_of_any(-x)); }
  static double of(double x) { return 1.0 / (1.0 + std::exp(-x)); }
};

// Around 0 by Cephes' polynomial.
struct Tanh : OfFloatsAlone {
  static constexpr char kName[] = "tanh";
  static float of(float x) {
    const float size = std::abs(x);
    const float power = branchless::exponential(-2.0F * size);
    const float far = (1.0F - power) / (1.0F + power);
    constexpr auto kSeries =
        coefficients<float>({-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                             1.33314422036e-1, -3.33332819422e-1});
    const float square = x * x;
    const float near = polynomial(kSeries, square) * square * x + x;
    return std::copysign(size < 0.625F ? near : far, x);
  }
  static double of(double x) { return std::tanh(x); }
};

// Around 0 by Cephes' polynomial.
struct Erf : OfFloatsAlone {
  static constexpr char kName[] = "erf";
  static float of(float x) {
    const float size = std::abs(x);
    const float bounded = size > 1.0F ? 1.0F : x;
    constexpr auto kSeries = coefficients<float>(
        {7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2,
         1.128358514861418e-1, -3.761262582423300e-1, 1.128379165726710});
    const float near = polynomial(kSeries, bounded * bounded) * bounded;
    const float far = std::copysign(1.0F - branchless::error_function_complement(size), x);
    return size < 1.0F ? near : far;
  }
  static double of(double x) { return std::erf(x); }
};

struct Sqrt : OfFloatsAlone {
  static constexpr char kName[] = "sqrt";
  template <typename T>
  static T of(T x) {
    return std::sqrt(x);
  }
};

struct Rsqrt : OfFloatsAlone {
  static constexpr char kName[] = "rsqrt";
  template <typename T>
  static T of(T x) {
    return T{1} / std::sqrt(x);
  }
};

struct Reciprocal : OfFloatsAlone {
  static constexpr char kName[] = "reciprocal";
  template <typename T>
  static T of(T x) {
    return T{1} / x;
  }
};

struct Floor : OfAllNumbers {
  static constexpr char kName[] = "floor";
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return std::floor(x);
    }
  }
};

struct Ceil : OfAllNumbers {
  static constexpr char kName[] = "ceil";
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return std::ceil(x);
    }
  }
};

struct Trunc : OfAllNumbers {
  static constexpr char kName[] = "trunc";
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return std::trunc(x);
    }
  }
};

// Halves to the even number.
struct Round : OfAllNumbers {
  static constexpr char kName[] = "round";
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) {
      return x;
    } else {
      return std::rint(x);
    }
  }
};

struct Neg : OfAllNumbers {
  static constexpr char kName[] = "neg";
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) {
      return wrapping_difference(T{0}, x);
    } else {
      return -x;
    }
  }
};

struct Sign : OfAllNumbers {
  static constexpr char kName[] = "sign";
  template <typename T>
  static T of(T x) {
    const T below = x < T{0} ? T{-1} : T{0};
    return x > T{0} ? T{1} : below;
  }
};

struct Maximum : OfAllNumbers {
  static constexpr char kName[] = "maximum";
  template <typename T>
  static T of(T x, T y) {
    const T larger = x > y ? x : y;  // y where one is NaN
    return x == x ? larger : x;
  }
};

struct Minimum : OfAllNumbers {
  static constexpr char kName[] = "minimum";
  template <typename T>
  static T of(T x, T y) {
    const T smaller = x < y ? x : y;
    return x == x ? smaller : x;
  }
};

struct Where : OfAllNumbers {
  static constexpr char kName[] = "where";
  template <typename T>
  static T of(T condition, T x, T y) {
    return condition != T{0} ? x : y;
  }
};

}  // namespace

std::span<const ListedOperator> faster_operators() {
  return listed<FasterOfOne<Exp>, Added<Exp2, kFormOfOne>, FasterOfOne<Expm1>, FasterOfOne<Log>,
                FasterOfOne<Log1p>, FasterOfOne<Log2>, Added<Logaddexp2, kFormOfTwo>,
                FasterOfOne<Log10>, FasterOfOne<Sigmoid>, FasterOfOne<Tanh>, FasterOfOne<Erf>,
                FasterOfOne<Sqrt>, FasterOfOne<Rsqrt>, FasterOfOne<Reciprocal>, FasterOfOne<Floor>,
                FasterOfOne<Ceil>, FasterOfOne<Trunc>, FasterOfOne<Round>, FasterOfOne<Neg>,
                FasterOfOne<Sign>, FasterOfTwo<Maximum>, FasterOfTwo<Minimum>,
                Faster<Where, kFormOfWhere>>();
}

}  // namespace polystate
