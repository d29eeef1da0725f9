#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/reductions.h"
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

struct GcdFunction {
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(std::gcd(size(a), size(b)));
  }
  static std::uint64_t size(std::int64_t x) {
    return x < 0 ? -static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
  }
};

struct Gcd {
  static constexpr OperatorSchema kSchema{
      "aten::gcd.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    return compute_elements<kSchema>(arguments, kIntegerLoops<GcdFunction>);
  }
};

// The size of what `T` holds of the product.
template <typename T>
struct LcmFunction {
  static std::int64_t of(std::int64_t a, std::int64_t b) {
    const std::uint64_t divisor = std::gcd(GcdFunction::size(a), GcdFunction::size(b));
    if (divisor == 0) return 0;
    const std::uint64_t product = GcdFunction::size(a) / divisor * GcdFunction::size(b);
    return static_cast<std::int64_t>(GcdFunction::size(static_cast<T>(product)));
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

// What a division leaves that is rounded to zero.
struct OfTruncated {
  template <typename T>
  static T of(T rest, T /*divisor*/) {
    return rest;
  }
};

// What a division leaves that is rounded down. Both values are there before one is chosen, so that
// a compiler can do so for several at once.
struct OfFloored {
  template <typename T>
  static T of(T rest, T divisor) {
    const T moved = Plus::of(rest, divisor);
    return (rest != T{0}) & ((rest < T{0}) != (divisor < T{0})) ? moved : rest;
  }
};

// ExecuTorch's own computes remainders of float64 in float32.
template <typename Division>
struct RemainderFunction {
  template <typename T>
  static T of(T x, T divisor) {
    return Division::of(std::fmod(x, divisor), divisor);
  }
  static std::int64_t of(std::int64_t x, std::int64_t divisor) {
    return divisor == 0 || divisor == -1 ? 0 : Division::of(x % divisor, divisor);
  }

  // Floats, some at a time.
  template <typename T>
  static void of_floats(const T* const* operands, T* results, std::int64_t count) {
    std::array<T, 256> rests{};
    const auto block = static_cast<std::int64_t>(rests.size());
    for (std::int64_t first = 0; first < count; first += block) {
      const std::int64_t size = std::min(block, count - first);
      const T* const x = operands[0] + first;
      const T* const divisors = operands[1] + first;
      if (!of_small_quotients(x, divisors, rests.data(), size)) {
        for (std::int64_t i = 0; i < size; ++i) {
          rests[static_cast<std::size_t>(i)] = of(x[i], divisors[i]);
        }
      }
      std::copy_n(rests.data(), size, results + first);
    }
  }

 private:
  // What whole steps leave of a size, exactly: float64 holds the products of floats.
  static double rest_of(float size, float whole, float step) {
    return double{size} - double{whole} * double{step};
  }
  static double rest_of(double size, double whole, double step) {
    return std::fma(-whole, step, size);
  }

  // False where a quotient is too large for exact rests or no number, or a divisor is infinite.
  template <typename T>
  static bool of_small_quotients(const T* x, const T* divisors, T* rests, std::int64_t count) {
    constexpr T kLargestQuotient = std::is_same_v<T, float> ? 0x1p22F : 0x1p51;
    std::uint32_t misfits = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const T size = std::abs(x[i]);
      const T step = std::abs(divisors[i]);
      const T quotient = size / step;  // rounded: its whole part is at most one too large
      const bool fits = (quotient < kLargestQuotient) & (step <= std::numeric_limits<T>::max());
      misfits |= static_cast<std::uint32_t>(!fits);
      const double rest = rest_of(size, std::trunc(fits ? quotient : T{0}), step);
      const double raised = rest + double{step};
      const auto least = static_cast<T>(rest < 0.0 ? raised : rest);
      rests[i] = Division::of(std::copysign(least, x[i]), divisors[i]);
    }
    return misfits == 0;
  }
};

// Of integers, the low bits; ExecuTorch's own rounds them to float64.
struct PowerFunction {
  template <typename T>
  static T of(T base, T exponent) {
    return std::pow(base, exponent);
  }

  // float32 some at a time, in float64.
  static void of_floats(const float* const* operands, float* results, std::int64_t count) {
    std::array<float, 256> powers{};
    std::array<std::uint32_t, 256> misfits{};  // those of zero and of what is not finite
    const auto block = static_cast<std::int64_t>(powers.size());
    for (std::int64_t first = 0; first < count; first += block) {
      const std::int64_t size = std::min(block, count - first);
      const float* const bases = operands[0] + first;
      const float* const exponents = operands[1] + first;
      std::uint32_t any = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const auto place = static_cast<std::size_t>(i);
        const float magnitude = std::abs(bases[i]);
        const bool fits =
            magnitude > 0.0F && magnitude <= kLargest && std::abs(exponents[i]) <= kLargest;
        powers[place] = of_finite(fits ? bases[i] : 1.0F, fits ? exponents[i] : 1.0F);
        misfits[place] = static_cast<std::uint32_t>(!fits);
        any |= misfits[place];
      }
      for (std::int64_t i = 0; any != 0 && i < size; ++i) {
        const auto place = static_cast<std::size_t>(i);
        if (misfits[place] != 0) powers[place] = std::pow(bases[i], exponents[i]);
      }
      std::copy_n(powers.data(), size, results + first);
    }
  }

  static std::int64_t of(std::int64_t base, std::int64_t exponent) {
    if (exponent < 0) return of_reciprocal(base, exponent);
    std::uint64_t result = 1;
    auto square = static_cast<std::uint64_t>(base);
    for (; exponent > 0; exponent /= 2, square *= square) {
      if (exponent % 2 == 1) result *= square;
    }
    return static_cast<std::int64_t>(result);
  }

 private:
  // A negative power, rounded to an integer: 0, except for the bases 1 and -1.
  static std::int64_t of_reciprocal(std::int64_t base, std::int64_t exponent) {
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return base == 1 ? 1 : 0;
  }

  static constexpr float kLargest = std::numeric_limits<float>::max();

  // Of a base that is not zero.
  static float of_finite(float base, float exponent) {
    const auto power =
        static_cast<float>(branchless::power(std::abs(double{base}), double{exponent}));
    const bool is_whole = round(exponent) == double{exponent};
    const double half = 0.5 * double{exponent};
    const float of_negative = round(half) == half ? power : -power;
    const float not_a_number = std::numeric_limits<float>::quiet_NaN();
    return base > 0.0F ? power : is_whole ? of_negative : not_a_number;
  }

  // To a whole number; larger ones are whole already.
  static double round(double x) {
    constexpr double kShift = 0x1.8p52;
    return std::abs(x) < 0x1p51 ? (x + kShift) - kShift : x;
  }
};

Loops power_loops() {
  Loops loops = kAllLoops<PowerFunction>;
  loops.of_floats = vectorised<&PowerFunction::of_floats>(best_instruction_set());
  return loops;
}

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

constexpr char kTruncatedRemainder[] =
    "polystate_faster::fmod.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kTruncatedRemainderOfScalar[] =
    "polystate_faster::fmod.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
constexpr char kRemainder[] =
    "polystate_aten::remainder.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> "
    "Tensor(a!)";
constexpr char kRemainderOfScalar[] =
    "polystate_aten::remainder.Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> "
    "Tensor(a!)";
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
constexpr char kPower[] =
    "polystate_aten::pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> "
    "Tensor(a!)";
constexpr char kPowerOfScalar[] =
    "polystate_aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> "
    "Tensor(a!)";
constexpr char kPowerWithScalar[] =
    "polystate_aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> "
    "Tensor(a!)";

// Whether an element is zero as a T.
template <typename T>
bool has_zero(const TensorArgument& tensor) {
  return with_element_type(tensor.dtype(), [&]<typename From>() {
    if constexpr (kIsFloat<From>) return false;  // integers have no floats as divisors
    return std::ranges::any_of(elements<const From>(tensor),
                               [](From x) { return static_cast<T>(x) == T{0}; });
  });
}

// Whether a result without a value would be asked for: floats have NaN.
bool divides_integers_by_zero(ProgramArguments& arguments, const OperatorSchema& schema) {
  const TensorArgument self = arguments.tensor(0);
  const DType dtype = arguments.tensor(2).dtype();
  if (!arguments.status() || self.element_count() == 0) return false;
  const bool is_tensor = schema.type_of(1) == "Tensor";
  const TensorArgument divisors = is_tensor ? arguments.tensor(1) : TensorArgument();
  if (!arguments.status()) return false;
  return with_element_type(dtype, [&]<typename T>() {
    if constexpr (kIsFloat<T>) return false;
    if (is_tensor) return has_zero<T>(divisors);
    const std::optional<std::int64_t> divisor = arguments.whole_number(1);
    return divisor && static_cast<T>(*divisor) == T{0};
  });
}

template <typename Division, const auto& kText>
struct Remainder {
  static constexpr OperatorSchema kSchema{kText};
  static Status run(ProgramArguments& arguments) {
    const bool has_no_value = divides_integers_by_zero(arguments, kSchema);
    if (!arguments.status()) return arguments.status();
    if (has_no_value) return Error{ErrorCode::kEngine, "an integer is divided by zero"};
    using Function = RemainderFunction<Division>;
    Loops loops = kIntegerLoops<Function>;
    const InstructionSet set = best_instruction_set();
    loops.of_floats = vectorised<&Function::template of_floats<float>>(set);
    loops.of_doubles = vectorised<&Function::template of_floats<double>>(set);
    return compute_elements<kSchema>(arguments, loops);
  }
};

template <const auto& kText>
struct Power {
  static constexpr OperatorSchema kSchema{kText};
  static Status run(ProgramArguments& arguments) {
    return compute_elements<kSchema>(arguments, power_loops());
  }
};

struct SquareRoot {
  template <typename T>
  static T of(T x) {
    return std::sqrt(x);
  }
};

struct Square {
  template <typename T>
  static T of(T x) {
    return x * x;
  }
};

struct ReciprocalSquareRoot {
  template <typename T>
  static T of(T x) {
    return T{1} / std::sqrt(x);
  }
};

// PyTorch takes roots in place of two powers, of -0 and of infinity something else, but not of
// float16.
struct PowerWithNumber {
  static constexpr OperatorSchema kSchema{kPowerWithScalar};
  static Status run(ProgramArguments& arguments) {
    const double exponent = arguments.scalar(1);
    const DType dtype = arguments.tensor(2).dtype();
    if (!arguments.status()) return arguments.status();
    Loops loops = power_loops();
    if (std::abs(exponent) == 0.5 && dtype != DType::kFloat16) {
      loops =
          exponent > 0 ? vectorised_loops<SquareRoot>() : vectorised_loops<ReciprocalSquareRoot>();
    } else if (exponent == 2.0 && is_float(dtype)) {
      loops = vectorised_loops<Square>();
    }
    return compute_elements<kSchema>(arguments, loops);
  }
};

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
    if (dtype == DType::kFloat16) loops.of_floats = &each_element<NextOfSixteenBits<Half>, float>;
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
      OfSelfAndNumber<Xlog1py>, Abs, Remainder<OfFloored, kRemainder>,
      Remainder<OfFloored, kRemainderOfScalar>, Remainder<OfTruncated, kTruncatedRemainder>,
      Remainder<OfTruncated, kTruncatedRemainderOfScalar>, Power<kPower>, Power<kPowerOfScalar>,
      PowerWithNumber, Shift<LeftShiftFunction, kLeftShift>,
      Shift<LeftShiftFunction, kLeftShiftByNumber>, Shift<RightShiftFunction, kRightShift>,
      Shift<RightShiftFunction, kRightShiftByNumber>, Gcd, Lcm, Heaviside, Nextafter, Frexp>();
}

}  // namespace polystate
