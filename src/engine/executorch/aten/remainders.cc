#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include "core/instruction_set.h"
#include "core/vectorised.h"
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

// Remainders of divisions, as PyTorch and Python have them.
namespace polystate {
namespace {

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

}  // namespace

std::span<const ListedOperator> remainder_operators() {
  return listed<Remainder<OfFloored, kRemainder>, Remainder<OfFloored, kRemainderOfScalar>,
                Remainder<OfTruncated, kTruncatedRemainder>,
                Remainder<OfTruncated, kTruncatedRemainderOfScalar>>();
}

}  // namespace polystate
