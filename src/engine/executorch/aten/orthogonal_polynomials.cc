#include <cmath>
#include <cstdint>
#include <span>

#include "core/compiled_for.h"
#include "core/instruction_set.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/special_values.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

// Orthogonal polynomials by their recurrences. A degree is the number's whole part; of a negative
// one the polynomial is zero.
namespace polystate {
namespace {

// Of degrees above, whose recurrence would keep a thread for long, the polynomial is NaN.
constexpr std::int64_t kMostSteps = 10'000'000;

// The polynomial of a degree from those of degrees 0 and 1; `next(k, q, p)` is that of degree k + 1
// from those of degrees k and k - 1. It ends at the first that is NaN.
template <typename T, typename Next>
T by_recurrence(T degree, T one, const Next& next) {
  if (degree == T{0}) return T{1};
  if (!(degree <= static_cast<T>(kMostSteps))) return kNan<T>;
  T before = 1;
  T last = one;
  const auto steps = static_cast<std::int64_t>(degree);
  for (std::int64_t k = 1; k < steps && !std::isnan(last); ++k) {
    const T found = next(static_cast<T>(k), last, before);
    before = last;
    last = found;
  }
  return last;
}

// x * y - z, rounded once, as PyTorch's recurrences are compiled.
template <typename T>
T product_less(T x, T y, T z) {
  return std::fma(x, y, -z);
}

// The whole part of a degree; -1 where it is no number.
template <typename T>
T whole(T degree) {
  return std::isfinite(degree) ? std::trunc(degree) : T{-1};
}

template <typename T>
T alternating(T degree, T size) {
  return std::fmod(degree, T{2}) == T{0} ? size : -size;
}

// Chebyshev's polynomials of the first to fourth kind: at 1 and -1, at cos(angle) between, and of
// degree 1.
struct FirstKind {
  template <typename T>
  static T at_one(T /*degree*/) {
    return 1;
  }
  template <typename T>
  static T at_minus_one(T degree) {
    return alternating(degree, T{1});
  }
  template <typename T>
  static T at_angle(T degree, T angle, T /*x*/) {
    return std::cos(degree * angle);
  }
  template <typename T>
  static T of_degree_one(T x) {
    return x;
  }
};

struct SecondKind {
  template <typename T>
  static T at_one(T degree) {
    return degree + 1;
  }
  template <typename T>
  static T at_minus_one(T degree) {
    return alternating(degree, degree + 1);
  }
  template <typename T>
  static T at_angle(T degree, T angle, T x) {
    const T sine = std::sin(angle);
    if (sine != T{0}) return std::sin((degree + 1) * angle) / sine;
    return (degree + 1) * std::cos((degree + 1) * angle) / x;
  }
  template <typename T>
  static T of_degree_one(T x) {
    return x + x;
  }
};

struct ThirdKind {
  template <typename T>
  static T at_one(T /*degree*/) {
    return 1;
  }
  template <typename T>
  static T at_minus_one(T degree) {
    return alternating(degree, degree + degree + 1);
  }
  template <typename T>
  static T at_angle(T degree, T angle, T /*x*/) {
    if (std::sin(angle / T{2}) == T{1}) return at_minus_one(degree);
    return std::cos((degree + T{0.5}) * angle) / std::cos(angle / T{2});
  }
  template <typename T>
  static T of_degree_one(T x) {
    return x + x - T{1};
  }
};

struct FourthKind {
  template <typename T>
  static T at_one(T degree) {
    return degree + degree + 1;
  }
  template <typename T>
  static T at_minus_one(T degree) {
    return alternating(degree, T{1});
  }
  template <typename T>
  static T at_angle(T degree, T angle, T x) {
    if (std::cos(angle / T{2}) != T{1}) {
      return std::sin((degree + T{0.5}) * angle) / std::sin(angle / T{2});
    }
    return x > T{0} ? at_one(degree) : at_minus_one(degree);
  }
  template <typename T>
  static T of_degree_one(T x) {
    return x + x + T{1};
  }
};

// A Chebyshev polynomial. Degrees above `kByAngle` are computed by the angle where there is one, as
// PyTorch's are.
template <const auto& kOperator, typename Kind, int kByAngle>
struct Chebyshev {
  static constexpr auto& kName = kOperator;
  template <typename T>
  static T of(T x, T degree) {
    degree = whole(degree);
    if (degree < T{0}) return T{0};
    if (x == T{1}) return Kind::at_one(degree);
    if (x == T{-1}) return Kind::at_minus_one(degree);
    if (degree > static_cast<T>(kByAngle) && std::abs(x) < T{1}) {
      return Kind::at_angle(degree, std::acos(x), x);
    }
    return by_recurrence(degree, Kind::of_degree_one(x),
                         [x](T, T last, T before) { return product_less(x + x, last, before); });
  }
};

// One that is defined between 0 and 1.
template <const auto& kOperator, typename Kind, int kByAngle>
struct ShiftedChebyshev {
  static constexpr auto& kName = kOperator;
  template <typename T>
  static T of(T x, T degree) {
    return Chebyshev<kOperator, Kind, kByAngle>::of(x + x - T{1}, degree);
  }
};

constexpr char kT[] = "special_chebyshev_polynomial_t";
constexpr char kU[] = "special_chebyshev_polynomial_u";
constexpr char kV[] = "special_chebyshev_polynomial_v";
constexpr char kW[] = "special_chebyshev_polynomial_w";
constexpr char kShiftedT[] = "special_shifted_chebyshev_polynomial_t";
constexpr char kShiftedU[] = "special_shifted_chebyshev_polynomial_u";
constexpr char kShiftedV[] = "special_shifted_chebyshev_polynomial_v";
constexpr char kShiftedW[] = "special_shifted_chebyshev_polynomial_w";

// The degree above which PyTorch has NaN for Hermite's polynomials.
template <typename T>
constexpr T kMostOfHermite = sizeof(T) == sizeof(float) ? T{128} : T{512};

struct HermiteH {
  static constexpr char kName[] = "special_hermite_polynomial_h";
  template <typename T>
  static T of(T x, T degree) {
    degree = whole(degree);
    if (degree < T{0}) return T{0};
    if (degree > kMostOfHermite<T>) return kNan<T>;
    return by_recurrence(degree, x + x, [x](T k, T last, T before) {
      return product_less(x + x, last, 2 * k * before);
    });
  }
};

struct HermiteHe {
  static constexpr char kName[] = "special_hermite_polynomial_he";
  template <typename T>
  static T of(T x, T degree) {
    degree = whole(degree);
    if (degree < T{0}) return T{0};
    if (degree > kMostOfHermite<T>) return kNan<T>;
    return by_recurrence(degree, x,
                         [x](T k, T last, T before) { return product_less(x, last, k * before); });
  }
};

struct LaguerreL {
  static constexpr char kName[] = "special_laguerre_polynomial_l";
  template <typename T>
  static T of(T x, T degree) {
    degree = whole(degree);
    if (degree < T{0}) return T{0};
    if (x == T{0}) return T{1};
    return by_recurrence(degree, T{1} - x, [x](T k, T last, T before) {
      return product_less(k + k + (T{1} - x), last, k * before) / (k + 1);
    });
  }
};

struct LegendreP {
  static constexpr char kName[] = "special_legendre_polynomial_p";
  template <typename T>
  static T of(T x, T degree) {
    degree = whole(degree);
    if (degree < T{0}) return T{0};
    if (x == T{1}) return T{1};
    if (x == T{-1}) return alternating(degree, T{1});
    return by_recurrence(degree, x, [x](T k, T last, T before) {
      return product_less((k + k + 1) * x, last, k * before) / (k + 1);
    });
  }
};

constexpr char kOfTensors[] = ".out(Tensor x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kOfNumber[] = ".x_scalar_out(Scalar x, Tensor n, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kOfDegree[] = ".n_scalar_out(Tensor x, Scalar n, *, Tensor(a!) out) -> Tensor(a!)";

// A function's loop for each instruction set. `product_less` calls the C library where a processor
// may lack an instruction for it; both give the same results.
template <typename Function, typename Number>
struct Recurrences {
  static constexpr auto kScalar = &each_element<Function, Number>;
#if defined(__x86_64__)
  // It has all that the loop calls within it, with these instructions.
  [[gnu::target("fma"), gnu::flatten]] static void fused(const Number* const* operands,
                                                         Number* results, std::int64_t count) {
    each_element<Function, Number>(operands, results, count);
  }
  static constexpr auto kAvx2 = fused;
#endif
};

template <typename Function, const auto& kForm>
struct OfRecurrence : OfFloats<Function, kForm> {
  static Status run(ProgramArguments& arguments) {
    const InstructionSet set = best_instruction_set();
    const Loops loops{.of_floats = compiled_for<Recurrences<Function, float>>(set),
                      .of_doubles = compiled_for<Recurrences<Function, double>>(set)};
    return compute_elements<OfFloats<Function, kForm>::kSchema>(arguments, loops);
  }
};

template <typename... Functions>
std::span<const ListedOperator> in_all_forms() {
  return listed<OfRecurrence<Functions, kOfTensors>..., OfRecurrence<Functions, kOfNumber>...,
                OfRecurrence<Functions, kOfDegree>...>();
}

}  // namespace

std::span<const ListedOperator> polynomial_operators() {
  return in_all_forms<
      Chebyshev<kT, FirstKind, 6>, Chebyshev<kU, SecondKind, 8>, Chebyshev<kV, ThirdKind, 8>,
      Chebyshev<kW, FourthKind, 8>, ShiftedChebyshev<kShiftedT, FirstKind, 6>,
      ShiftedChebyshev<kShiftedU, SecondKind, 6>, ShiftedChebyshev<kShiftedV, ThirdKind, 6>,
      ShiftedChebyshev<kShiftedW, FourthKind, 4>, HermiteH, HermiteHe, LaguerreL, LegendreP>();
}

}  // namespace polystate
