#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/branchless.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Powers with exponents of any type.
namespace polystate {
namespace {

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

constexpr char kPower[] =
    "polystate_aten::pow.Tensor_Tensor_out(Tensor self, Tensor exponent, *, Tensor(a!) out) -> "
    "Tensor(a!)";
constexpr char kPowerOfScalar[] =
    "polystate_aten::pow.Scalar_out(Scalar self, Tensor exponent, *, Tensor(a!) out) -> "
    "Tensor(a!)";
constexpr char kPowerWithScalar[] =
    "polystate_aten::pow.Tensor_Scalar_out(Tensor self, Scalar exponent, *, Tensor(a!) out) -> "
    "Tensor(a!)";

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

}  // namespace

std::span<const ListedOperator> power_operators() {
  return listed<Power<kPower>, Power<kPowerOfScalar>, PowerWithNumber>();
}

}  // namespace polystate
