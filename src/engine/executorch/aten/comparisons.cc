#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elementwise.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Comparisons, logical operators, and those of bits.
namespace polystate {
namespace {

constexpr char kFormOfTensors[] =
    ".Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
// `Function::of` compares or tests numbers of any type.
template <typename Function, const auto& kForm>
struct Predicate : Named<kFasterNamespace, Function::kName, kForm> {
  static Status run(ProgramArguments& arguments) {
    return compute_predicates<Predicate::kSchema>(arguments, vectorised_predicates<Function>());
  }
};

template <typename Function>
using PredicateOfTensors = Predicate<Function, kFormOfTensors>;
template <typename Function>
using PredicateOfNumber = Predicate<Function, kFormOfNumber>;
template <typename Function>
using PredicateOfOne = Predicate<Function, kFormOfOne>;
template <typename Function>
using PredicateOfTwo = Predicate<Function, kFormOfTwo>;

struct Equal {
  static constexpr char kName[] = "eq";
  template <typename T>
  static bool of(T x, T y) {
    return x == y;
  }
};

struct Unequal {
  static constexpr char kName[] = "ne";
  template <typename T>
  static bool of(T x, T y) {
    return x != y;
  }
};

struct Less {
  static constexpr char kName[] = "lt";
  template <typename T>
  static bool of(T x, T y) {
    return x < y;
  }
};

struct LessOrEqual {
  static constexpr char kName[] = "le";
  template <typename T>
  static bool of(T x, T y) {
    return x <= y;
  }
};

struct Greater {
  static constexpr char kName[] = "gt";
  template <typename T>
  static bool of(T x, T y) {
    return x > y;
  }
};

struct GreaterOrEqual {
  static constexpr char kName[] = "ge";
  template <typename T>
  static bool of(T x, T y) {
    return x >= y;
  }
};

struct IsNan {
  static constexpr char kName[] = "isnan";
  template <typename T>
  static bool of(T x) {
    return x != x;
  }
};

struct IsInf {
  static constexpr char kName[] = "isinf";
  template <typename T>
  static bool of(T x) {
    if constexpr (std::is_integral_v<T>) {
      return false;
    } else {
      return std::abs(x) > std::numeric_limits<T>::max();
    }
  }
};

struct LogicalAnd {
  static constexpr char kName[] = "logical_and";
  template <typename T>
  static bool of(T x, T y) {
    return (x != T{0}) & (y != T{0});
  }
};

struct LogicalOr {
  static constexpr char kName[] = "logical_or";
  template <typename T>
  static bool of(T x, T y) {
    return (x != T{0}) | (y != T{0});
  }
};

struct LogicalXor {
  static constexpr char kName[] = "logical_xor";
  template <typename T>
  static bool of(T x, T y) {
    return (x != T{0}) != (y != T{0});
  }
};

struct LogicalNot {
  static constexpr char kName[] = "logical_not";
  template <typename T>
  static bool of(T x) {
    return x == T{0};
  }
};

// Bits of integers; of bools, what `Logical` says.
template <typename Function, typename Logical, const auto& kForm>
struct Bits : Named<kFasterNamespace, Function::kName, kForm> {
  static Status run(ProgramArguments& arguments) {
    const DType dtype = arguments.tensor(Bits::kSchema.argument_count() - 1).dtype();
    if (!arguments.status()) return arguments.status();
    const InstructionSet set = best_instruction_set();
    if (dtype == DType::kBool) {
      return compute_predicates<Bits::kSchema>(
          arguments, {.of_bools = vectorised<&each_element<Logical, std::uint8_t, bool>>(set)});
    }
    return compute_elements<Bits::kSchema>(
        arguments, {.of_integers = vectorised<&each_element<Function, std::int64_t>>(set),
                    .of_small_integers = vectorised<&each_element<Function, std::int32_t>>(set)});
  }
};

template <typename T>
std::make_unsigned_t<T> bits(T x) {
  return static_cast<std::make_unsigned_t<T>>(x);
}

struct BitwiseAnd {
  static constexpr char kName[] = "bitwise_and";
  template <typename T>
  static T of(T x, T y) {
    return static_cast<T>(bits(x) & bits(y));
  }
};

struct BitwiseOr {
  static constexpr char kName[] = "bitwise_or";
  template <typename T>
  static T of(T x, T y) {
    return static_cast<T>(bits(x) | bits(y));
  }
};

struct BitwiseXor {
  static constexpr char kName[] = "bitwise_xor";
  template <typename T>
  static T of(T x, T y) {
    return static_cast<T>(bits(x) ^ bits(y));
  }
};

struct BitwiseNot {
  static constexpr char kName[] = "bitwise_not";
  template <typename T>
  static T of(T x) {
    return static_cast<T>(~bits(x));
  }
};

}  // namespace

std::span<const ListedOperator> comparison_operators() {
  return listed<
      PredicateOfTensors<Equal>, PredicateOfTensors<Unequal>, PredicateOfTensors<Less>,
      PredicateOfTensors<LessOrEqual>, PredicateOfTensors<Greater>,
      PredicateOfTensors<GreaterOrEqual>, PredicateOfNumber<Equal>, PredicateOfNumber<Unequal>,
      PredicateOfNumber<Less>, PredicateOfNumber<LessOrEqual>, PredicateOfNumber<Greater>,
      PredicateOfNumber<GreaterOrEqual>, PredicateOfTwo<LogicalAnd>, PredicateOfTwo<LogicalOr>,
      PredicateOfTwo<LogicalXor>, PredicateOfOne<LogicalNot>, PredicateOfOne<IsNan>,
      PredicateOfOne<IsInf>, Bits<BitwiseAnd, LogicalAnd, kFormOfTensors>,
      Bits<BitwiseOr, LogicalOr, kFormOfTensors>, Bits<BitwiseXor, LogicalXor, kFormOfTensors>,
      Bits<BitwiseNot, LogicalNot, kFormOfOne>>();
}

}  // namespace polystate
