#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Elementwise operators of which each is a line or two.
namespace polystate {
namespace {

struct Sinc {
  static constexpr char kName[] = "sinc";
  template <typename T>
  static T of(T x) {
    if (x == T{0}) return T{1};
    const T angle = std::numbers::pi_v<T> * x;
    return std::sin(angle) / angle;
  }
};

struct Entr {
  static constexpr char kName[] = "special_entr";
  template <typename T>
  static T of(T x) {
    if (std::isnan(x)) return x;
    if (x > T{0}) return -x * std::log(x);
    return x == T{0} ? T{0} : -std::numeric_limits<T>::infinity();
  }
};

struct Xlogy {
  static constexpr char kName[] = "xlogy";
  template <typename T>
  static T of(T x, T y) {
    if (std::isnan(y)) return y;
    return x == T{0} ? T{0} : x * std::log(y);
  }
};

constexpr char kXlogyOfTensors[] =
    ".OutTensor(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kXlogyOfNumber[] =
    ".OutScalar_Self(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kXlogyWithNumber[] =
    ".OutScalar_Other(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";

struct Xlog1py {
  static constexpr char kName[] = "special_xlog1py";
  template <typename T>
  static T of(T x, T y) {
    if (std::isnan(y)) return y;
    return x == T{0} ? T{0} : x * std::log1p(y);
  }
};

std::uint64_t size_of_integer(std::int64_t x) {
  return x < 0 ? -static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
}

// By Euclid's algorithm in `T`, as PyTorch: the smallest number has no size in its type, and makes
// some results negative.
template <typename T>
struct GcdFunction {
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    std::int64_t divisor = size(a);
    std::int64_t rest = size(b);
    while (divisor != 0) rest = std::exchange(divisor, rest % divisor);
    return rest;
  }
  static std::int64_t size(std::int64_t x) { return static_cast<T>(size_of_integer(x)); }
};

struct Gcd {
  static constexpr OperatorSchema kSchema{
      "aten::gcd.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const DType dtype = arguments.tensor(2).dtype();
    if (!arguments.status()) return arguments.status();
    return with_element_type(dtype, [&]<typename T>() {
      using Integer = std::conditional_t<std::is_integral_v<T>, T, std::int64_t>;
      return compute_elements<kSchema>(arguments, kIntegerLoops<GcdFunction<Integer>>);
    });
  }
};

// The size of what `T` holds of the product.
template <typename T>
struct LcmFunction {
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    const std::uint64_t divisor = std::gcd(size_of_integer(a), size_of_integer(b));
    if (divisor == 0) return 0;
    const std::uint64_t product = size_of_integer(a) / divisor * size_of_integer(b);
    return static_cast<std::int64_t>(size_of_integer(static_cast<T>(product)));
  }
};

struct Lcm {
  static constexpr OperatorSchema kSchema{
      "aten::lcm.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const DType dtype = arguments.tensor(2).dtype();
    if (!arguments.status()) return arguments.status();
    // PyTorch computes smaller types in 32 bits, as C++ does.
    return dtype == DType::kInt64
               ? compute_elements<kSchema>(arguments, kIntegerLoops<LcmFunction<std::int64_t>>)
               : compute_elements<kSchema>(arguments, kIntegerLoops<LcmFunction<std::int32_t>>);
  }
};

// Of more bits than a number has nothing is left of it but its sign. ExecuTorch's own shifts by the
// low bits of the count.
struct LeftShiftFunction {
  static std::int64_t of(std::int64_t x, std::int64_t count) {
    const auto bits = static_cast<std::uint64_t>(count);
    const std::uint64_t shifted = static_cast<std::uint64_t>(x) << (bits & 63U);
    return bits > 63 ? 0 : static_cast<std::int64_t>(shifted);
  }
};

struct RightShiftFunction {
  static std::int64_t of(std::int64_t x, std::int64_t count) {
    const auto bits = static_cast<std::uint64_t>(count);
    // As C++20 has it, the sign stays: NOLINTNEXTLINE(bugprone-signed-bitwise)
    return x >> (bits > 63 ? 63 : bits);
  }
};

template <typename Function, const auto& kText>
struct Shift {
  static constexpr OperatorSchema kSchema{kText};
  static Status run(ProgramArguments& arguments) {
    return compute_elements<kSchema>(
        arguments,
        {.of_integers = vectorised<&each_element<Function, std::int64_t>>(best_instruction_set())});
  }
};

// Of -0, too, which ExecuTorch's own leaves as it is.
struct AbsFunction {
  template <typename T>
  static T of(T x) {
    return std::abs(x);
  }
};

struct Abs {
  static constexpr OperatorSchema kSchema{
      "polystate_aten::abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return compute_elements<kSchema>(arguments, vectorised_loops<AbsFunction>());
  }
};

constexpr char kLeftShift[] =
    "polystate_aten::bitwise_left_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) "
    "-> Tensor(a!)";
constexpr char kLeftShiftByNumber[] =
    "polystate_aten::bitwise_left_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, Tensor(a!) "
    "out) -> Tensor(a!)";
constexpr char kRightShift[] =
    "polystate_aten::bitwise_right_shift.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) "
    "-> Tensor(a!)";
constexpr char kRightShiftByNumber[] =
    "polystate_aten::bitwise_right_shift.Tensor_Scalar_out(Tensor self, Scalar other, *, "
    "Tensor(a!) out) -> Tensor(a!)";
struct HeavisideFunction {
  template <typename T>
  static T of(T x, T at_zero) {
    return x == T{0} ? at_zero : static_cast<T>(x > T{0});
  }
};

struct Heaviside {
  static constexpr OperatorSchema kSchema{
      "aten::heaviside.out(Tensor self, Tensor values, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return compute_elements<kSchema>(arguments, kAllLoops<HeavisideFunction>);
  }
};

// Without branches, so that it can be computed for several numbers at once.
struct NextAfter {
  template <typename T>
  static T of(T x, T towards) {
    using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
    const auto bits = std::bit_cast<Bits>(x);
    const Bits next = (towards > x) == (x > T{0}) ? bits + 1 : bits - 1;
    const T from_zero = std::copysign(std::numeric_limits<T>::denorm_min(), towards);
    const T result = x == T{0} ? from_zero : std::bit_cast<T>(next);
    const T found = x == towards ? towards : result;
    return x != x || towards != towards ? x + towards : found;
  }
};

// Of floats that are numbers of a type of 16 bits, the next one of those.
template <typename T>
struct NextOfSixteenBits {
  static float of(float x, float towards) {
    if (std::isnan(x) || std::isnan(towards)) return std::numeric_limits<float>::quiet_NaN();
    if (x == towards) return towards;
    if (x == 0.0F) return std::copysign(number(1), towards);
    const auto bits = std::bit_cast<std::uint16_t>(static_cast<T>(x));
    const bool grows = (towards > x) == (x > 0.0F);
    return number(static_cast<std::uint16_t>(grows ? bits + 1 : bits - 1));
  }

 private:
  static float number(std::uint16_t bits) { return static_cast<float>(std::bit_cast<T>(bits)); }
};

struct Nextafter {
  static constexpr OperatorSchema kSchema{
      "aten::nextafter.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const DType dtype = arguments.tensor(2).dtype();
    Loops loops = vectorised_loops<NextAfter>();
    if (dtype == DType::kFloat16) {
      loops.of_floats = &each_element<NextOfSixteenBits<Float16>, float>;
    }
    if (dtype == DType::kBFloat16) {
      loops.of_floats = &each_element<NextOfSixteenBits<BFloat16>, float>;
    }
    return compute_elements<kSchema>(arguments, loops);
  }
};

struct Frexp {
  static constexpr OperatorSchema kSchema{
      "aten::frexp.Tensor_out(Tensor self, *, Tensor(a!) mantissa, Tensor(b!) exponent) -> "
      "(Tensor(a!) mantissa, Tensor(b!) exponent)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    if (!arguments.status()) return arguments.status();
    if (Status row_major = require_row_major(self, "self"); !row_major) return row_major;
    const Result<TensorArgument> mantissa = arguments.result_at(1, self.dtype(), self.shape());
    if (!mantissa) return mantissa.error();
    const Result<TensorArgument> exponent = arguments.result_at(2, DType::kInt32, self.shape());
    if (!exponent) return exponent.error();
    return with_element_type(self.dtype(), [&]<typename T>() -> Status {
      if constexpr (kIsFloat<T>) {
        const std::span<std::int32_t> exponents = elements<std::int32_t>(*exponent);
        const std::span<T> mantissas = elements<T>(*mantissa);
        std::size_t place = 0;
        for (const T x : elements<const T>(self)) {
          int found = 0;
          mantissas[place] = static_cast<T>(std::frexp(static_cast<Computed<T>>(x), &found));
          exponents[place++] = found;
        }
        return {};
      } else {
        return Error{ErrorCode::kEngine, "self is not of floats"};
      }
    });
  }
};

}  // namespace

std::span<const ListedOperator> elementary_operators() {
  return listed<
      OfOne<Sinc>, OfOne<Entr>, OfFloats<Xlogy, kXlogyOfTensors>, OfFloats<Xlogy, kXlogyOfNumber>,
      OfFloats<Xlogy, kXlogyWithNumber>, OfTwo<Xlog1py>, OfNumberAndOther<Xlog1py>,
      OfSelfAndNumber<Xlog1py>, Abs, Shift<LeftShiftFunction, kLeftShift>,
      Shift<LeftShiftFunction, kLeftShiftByNumber>, Shift<RightShiftFunction, kRightShift>,
      Shift<RightShiftFunction, kRightShiftByNumber>, Gcd, Lcm, Heaviside, Nextafter, Frexp>();
}

}  // namespace polystate
