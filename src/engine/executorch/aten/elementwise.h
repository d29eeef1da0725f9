#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/named.h"
#include "engine/executorch/aten/operands.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

namespace polystate {

// What an elementwise operator does to numbers that lie one after another, `count` of each operand.
template <typename Number, typename Output = Number>
using Loop = void (*)(const Number* const* operands, Output* results, std::int64_t count);

// What numbers are converted to before they are computed with. Floats beside integers are refused
// but by the last rule.
enum class ScalarRule : std::uint8_t {
  kConverted,    // to the type of the results
  kSecondKept,   // the second operand to float32 where results have 16 bits, also a tensor of one
  kNumbersKept,  // to float32 where results have 16 bits
  kTruncated,    // to the type of the results, a float to an integer as well
};

// Of one operator, by the result's type; null where the operator has no results of that kind.
struct Loops {
  Loop<float> of_floats = nullptr;  // of 16 bits, too
  Loop<double> of_doubles = nullptr;
  Loop<std::int64_t> of_integers = nullptr;  // and bools; a smaller type has the low bits
  // For results of at most 32 bits but bools; where it is null, `of_integers` computes these too.
  Loop<std::int32_t> of_small_integers = nullptr;
  // `of_floats` where each operand but the first is one number, which is read once.
  Loop<float> of_floats_beside_numbers = nullptr;
  ScalarRule rule = ScalarRule::kConverted;
  std::size_t operand_count = 0;  // how many of the operands they take; 0: all
};

// Of one operator whose results are bools, by the type of its operands.
struct Predicates {
  Loop<float, bool> of_floats = nullptr;  // of 16 bits, too
  Loop<double, bool> of_doubles = nullptr;
  Loop<std::int64_t, bool> of_integers = nullptr;
  Loop<std::uint8_t, bool> of_bools = nullptr;  // 0 or 1
};

namespace internal {

Status compute_elements(ProgramArguments& arguments, const OperandKinds& kinds, const Loops& loops);
Status compute_predicates(ProgramArguments& arguments, const OperandKinds& kinds,
                          const Predicates& predicates);

// Once for each schema: to read one takes longer than to add up small tensors.
template <const OperatorSchema& kSchema>
const OperandKinds& operand_kinds() {
  static const OperandKinds kinds(kSchema);
  return kinds;
}

}  // namespace internal

// Computes the last argument from the others, tensors that are broadcast and numbers; texts, and
// what may be absent and is, are no operands. All are converted to the type of the result first, as
// PyTorch's are to their common type: of a whole number that does not fit it has the low bits.
template <const OperatorSchema& kSchema>
Status compute_elements(ProgramArguments& arguments, const Loops& loops) {
  return internal::compute_elements(arguments, internal::operand_kinds<kSchema>(), loops);
}

// The same where the result is of bools: the others are converted to their common type.
template <const OperatorSchema& kSchema>
Status compute_predicates(ProgramArguments& arguments, const Predicates& predicates) {
  return internal::compute_predicates(arguments, internal::operand_kinds<kSchema>(), predicates);
}

// How many operands `Function::of` takes.
template <typename Function, typename Number>
consteval std::size_t operand_count() {
  if constexpr (requires(Number x) { Function::of(x); }) {
    return 1;
  } else if constexpr (requires(Number x) { Function::of(x, x); }) {
    return 2;
  } else if constexpr (requires(Number x) { Function::of(x, x, x); }) {
    return 3;
  } else {
    return 4;
  }
}

// `Function::of` of each element of its operands.
template <typename Function, typename Number, typename Output = Number>
void each_element(const Number* const* operands, Output* results, std::int64_t count) {
  const auto compute = [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    const std::array pointers{operands[kIndices]...};
    for (std::int64_t i = 0; i < count; ++i) results[i] = Function::of(pointers[kIndices][i]...);
  };
  compute(std::make_index_sequence<operand_count<Function, Number>()>());
}

// The same where each operand but the first is one number.
template <typename Function, typename Number>
void each_beside_numbers(const Number* const* operands, Number* results, std::int64_t count) {
  const auto compute = [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    const Number* const first = operands[0];
    const std::array numbers{*operands[kIndices + 1]...};
    for (std::int64_t i = 0; i < count; ++i) {
      results[i] = Function::of(first[i], numbers[kIndices]...);
    }
  };
  compute(std::make_index_sequence<operand_count<Function, Number>() - 1>());
}

template <typename Function>
inline constexpr Loops kFloatLoops{.of_floats = &each_element<Function, float>,
                                   .of_doubles = &each_element<Function, double>};

template <typename Function>
inline constexpr Loops kIntegerLoops{.of_integers = &each_element<Function, std::int64_t>};

template <typename Function>
inline constexpr Loops kAllLoops{.of_floats = &each_element<Function, float>,
                                 .of_doubles = &each_element<Function, double>,
                                 .of_integers = &each_element<Function, std::int64_t>};

// For functions without branches or calls, which the compiler vectorises.
template <typename Function>
Loops vectorised_loops() {
  const InstructionSet set = best_instruction_set();
  return {.of_floats = vectorised<&each_element<Function, float>>(set),
          .of_doubles = vectorised<&each_element<Function, double>>(set)};
}

template <typename Function>
Predicates vectorised_predicates() {
  const InstructionSet set = best_instruction_set();
  return {.of_floats = vectorised<&each_element<Function, float, bool>>(set),
          .of_doubles = vectorised<&each_element<Function, double, bool>>(set),
          .of_integers = vectorised<&each_element<Function, std::int64_t, bool>>(set),
          .of_bools = vectorised<&each_element<Function, std::uint8_t, bool>>(set)};
}

// An operator of PyTorch over a function of floats: `Function::kName` is its name, `kForm` the rest
// of its schema.
template <typename Function, const auto& kForm>
struct OfFloats : Named<kAtenNamespace, Function::kName, kForm> {
  static Status run(ProgramArguments& arguments) {
    return compute_elements<OfFloats::kSchema>(arguments, kFloatLoops<Function>);
  }
};

inline constexpr char kFormOfOne[] = ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
inline constexpr char kFormOfTwo[] =
    ".out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
inline constexpr char kFormOfNumber[] =
    ".Scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";
inline constexpr char kFormOfNumberAndOther[] =
    ".self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
inline constexpr char kFormOfSelfAndNumber[] =
    ".other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";

template <typename Function>
using OfOne = OfFloats<Function, kFormOfOne>;
// Of a function whose form for float32 has no branches or calls; `Same` is one that computes the
// same, whose loops are there already.
template <typename Function, typename Same = Function>
struct VectorisedOfOne : OfOne<Function> {
  static Status run(ProgramArguments& arguments) {
    Loops loops = kFloatLoops<Same>;
    loops.of_floats = vectorised<&each_element<Same, float>>(best_instruction_set());
    return compute_elements<OfOne<Function>::kSchema>(arguments, loops);
  }
};
template <typename Function>
using OfTwo = OfFloats<Function, kFormOfTwo>;
template <typename Function>
using OfNumberAndOther = OfFloats<Function, kFormOfNumberAndOther>;
template <typename Function>
using OfSelfAndNumber = OfFloats<Function, kFormOfSelfAndNumber>;

}  // namespace polystate
