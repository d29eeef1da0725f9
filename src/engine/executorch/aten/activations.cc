#include <cmath>
#include <numbers>
#include <span>
#include <string_view>

#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/faster.h"
#include "engine/executorch/aten/polynomials.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

// Activations, and numbers that are kept between bounds. NaN stays NaN, and is what a bound of NaN
// gives.
namespace polystate {
namespace {

template <typename T>
T at_least(T x, T bound) {
  const T raised = x < bound ? bound : x;
  return bound == bound ? raised : bound;
}

template <typename T>
T at_most(T x, T bound) {
  const T lowered = x > bound ? bound : x;
  return bound == bound ? lowered : bound;
}

struct WithLowerBound : OfAllNumbers {
  static constexpr bool kReadsNumbersOnce = true;
  template <typename T>
  static T of(T x, T bound) {
    return at_least(x, bound);
  }
};

struct WithUpperBound : OfAllNumbers {
  static constexpr bool kReadsNumbersOnce = true;
  template <typename T>
  static T of(T x, T bound) {
    return at_most(x, bound);
  }
};

struct WithBothBounds : OfAllNumbers {
  static constexpr bool kReadsNumbersOnce = true;
  template <typename T>
  static T of(T x, T lower, T upper) {
    return at_most(at_least(x, lower), upper);
  }
};

struct Hardtanh : WithBothBounds {
  static constexpr char kName[] = "hardtanh";
};

// Either bound may be absent.
template <const auto& kText>
struct Clamp {
  static constexpr OperatorSchema kSchema{kText};
  static Status run(ProgramArguments& arguments) {
    const bool has_lower = !arguments.is_none(1);
    const bool has_upper = !arguments.is_none(2);
    if (!has_lower && !has_upper) return refused("there is no bound");
    if (!has_upper) return compute_elements<kSchema>(arguments, faster_loops<WithLowerBound>());
    if (!has_lower) return compute_elements<kSchema>(arguments, faster_loops<WithUpperBound>());
    return compute_elements<kSchema>(arguments, faster_loops<WithBothBounds>());
  }
};

constexpr char kClampByNumbers[] =
    "polystate_faster::clamp.out(Tensor self, Scalar? min=None, Scalar? max=None, *, "
    "Tensor(a!) out) -> Tensor(a!)";
constexpr char kClampByTensors[] =
    "polystate_faster::clamp.Tensor_out(Tensor self, Tensor? min=None, Tensor? max=None, *, "
    "Tensor(a!) out) -> Tensor(a!)";
constexpr char kFormOfHardtanh[] =
    ".out(Tensor self, Scalar min_val=-1, Scalar max_val=1, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kFormOfLeakyRelu[] =
    ".out(Tensor self, Scalar negative_slope=0.01, *, Tensor(a!) out) -> Tensor(a!)";

constexpr char kFormOfElu[] =
    ".out(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1, *, Tensor(a!) out) -> "
    "Tensor(a!)";

struct Relu : OfAllNumbers {
  static constexpr char kName[] = "relu";
  template <typename T>
  static T of(T x) {
    return x < T{0} ? T{0} : x;
  }
};

struct LeakyRelu : OfFloatsAlone {
  static constexpr char kName[] = "leaky_relu";
  static constexpr bool kReadsNumbersOnce = true;
  template <typename T>
  static T of(T x, T slope) {
    return x > T{0} ? x : x * slope;
  }
};

// Below 0, `alpha` times e^(x * input_scale) - 1; both sides times `scale`.
struct Elu : OfFloatsAlone {
  static constexpr char kName[] = "elu";
  static float of(float x, float alpha, float scale, float input_scale) {
    const float below = branchless::exponential_less_one(x * input_scale) * (alpha * scale);
    return x < 0.0F ? below : x * scale;
  }
  static double of(double x, double alpha, double scale, double input_scale) {
    return x < 0.0 ? std::expm1(x * input_scale) * (alpha * scale) : x * scale;
  }
};

// x times the normal distribution, which is 1 / 2 + x p(x^2) / q(x^2): by the quotient that is
// nearest for x up to 5.3. From there on it is taken as 0 or 1, which is off by 6e-8 at most.
struct ExactGelu : OfFloatsAlone {
  static float of(float x) {
    constexpr float kFar = 5.3F;
    constexpr auto kDividend =
        coefficients<float>({2.426905848e-8, 6.355001871e-6, 1.572941439e-4, 4.609776701e-3,
                             3.264192873e-2, 3.989422767e-1});
    constexpr auto kDivisor = coefficients<float>(
        {1.241720057e-6, 7.035600799e-5, 1.81952522e-3, 2.797001829e-2, 2.484876953e-1, 1.0});
    const float square = x * x;
    const float near = x * (polynomial(kDividend, square) / polynomial(kDivisor, square));
    const float share = 0.5F + (std::abs(x) > kFar ? std::copysign(0.5F, x) : near);
    return x * at_least(share, 0.0F);  // which its rounding may be below
  }
  static double of(double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }
};

// By tanh(u), as e^(2u) / (e^(2u) + 1) is half of what it adds to 1.
struct ApproximateGelu : OfFloatsAlone {
  static constexpr double kFactor = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  static constexpr double kCubes = 0.044715;
  static float of(float x) {
    const float u = static_cast<float>(kFactor) * (x + static_cast<float>(kCubes) * x * x * x);
    return x / (1.0F + branchless::exponential_of_any(-2.0F * u));
  }
  static double of(double x) {
    return 0.5 * x * (1.0 + std::tanh(kFactor * (x + kCubes * x * x * x)));
  }
};

struct Gelu {
  static constexpr OperatorSchema kSchema{
      "polystate_faster::gelu.out(Tensor self, *, str approximate=\"none\", Tensor(a!) out) -> "
      "Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const std::string_view form = arguments.text(1);
    if (!arguments.status()) return arguments.status();
    if (form == "none") return compute_elements<kSchema>(arguments, faster_loops<ExactGelu>());
    if (form != "tanh") return refused("'approximate' is neither 'none' nor 'tanh'");
    return compute_elements<kSchema>(arguments, faster_loops<ApproximateGelu>());
  }
};

}  // namespace

std::span<const ListedOperator> activation_operators() {
  return listed<Clamp<kClampByNumbers>, Clamp<kClampByTensors>,
                Faster<Hardtanh, kFormOfHardtanh, ScalarRule::kTruncated>, FasterOfOne<Relu>,
                Faster<LeakyRelu, kFormOfLeakyRelu, ScalarRule::kNumbersKept>,
                Faster<Elu, kFormOfElu, ScalarRule::kNumbersKept>, Gelu>();
}

}  // namespace polystate
