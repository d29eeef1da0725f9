#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/polynomials.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

// Elementwise operators that ExecuTorch computes a number at a time: the compiler takes several.
// Those of float64 call the standard library.
namespace polystate {
namespace {

template <typename Function, const auto& kForm>
struct Faster {
  static constexpr auto kText = joined("polystate_faster::", Function::kName, kForm);
  static constexpr OperatorSchema kSchema = schema_of(kText);
  static Status run(ProgramArguments& arguments) {
    if constexpr (Function::kHasIntegers) {
      Loops loops = vectorised_loops<Function>();
      loops.of_integers = vectorised<&each_element<Function, std::int64_t>>(best_instruction_set());
      return compute_elements(arguments, kSchema, loops);
    } else {
      return compute_elements(arguments, kSchema, vectorised_loops<Function>());
    }
  }
};

constexpr char kFormOfWhere[] =
    ".self_out(Tensor condition, Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";

template <typename Function>
using FasterOfOne = Faster<Function, kFormOfOne>;
template <typename Function>
using FasterOfTwo = Faster<Function, kFormOfTwo>;

struct OfFloatsAlone {
  static constexpr bool kHasIntegers = false;
};
struct OfAllNumbers {
  static constexpr bool kHasIntegers = true;
};

struct Exp : OfFloatsAlone {
  static constexpr char kName[] = "exp";
  static float of(float x) { return branchless::exponential_of_any(x); }
  static double of(double x) { return std::exp(x); }
};

struct Log : OfFloatsAlone {
  static constexpr char kName[] = "log";
  static float of(float x) { return branchless::logarithm_of_any(x); }
  static double of(double x) { return std::log(x); }
};

// By the logarithm of what 1 + x is rounded to, and the share that the rounding took.
struct Log1p : OfFloatsAlone {
  static constexpr char kName[] = "log1p";
  static float of(float x) {
    const float sum = 1.0F + x;
    const float lost = (x - (sum - 1.0F)) / sum;
    const float found = branchless::logarithm_of_any(sum);
    const bool is_exact = sum == 0.0F || sum > std::numeric_limits<float>::max();
    const float corrected = is_exact ? found : found + lost;
    return x == 0.0F ? x : corrected;  // -0, too
  }
  static double of(double x) { return std::log1p(x); }
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
    if constexpr (std::is_integral_v<T>) return x;
    return std::floor(x);
  }
};

struct Ceil : OfAllNumbers {
  static constexpr char kName[] = "ceil";
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) return x;
    return std::ceil(x);
  }
};

struct Trunc : OfAllNumbers {
  static constexpr char kName[] = "trunc";
  template <typename T>
  static T of(T x) {
    if constexpr (std::is_integral_v<T>) return x;
    return std::trunc(x);
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
  return listed<FasterOfOne<Exp>, FasterOfOne<Log>, FasterOfOne<Log1p>, FasterOfOne<Sigmoid>,
                FasterOfOne<Tanh>, FasterOfOne<Sqrt>, FasterOfOne<Rsqrt>, FasterOfOne<Reciprocal>,
                FasterOfOne<Floor>, FasterOfOne<Ceil>, FasterOfOne<Trunc>, FasterOfTwo<Maximum>,
                FasterOfTwo<Minimum>, Faster<Where, kFormOfWhere>>();
}

}  // namespace polystate
