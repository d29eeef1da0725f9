#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "polystate/core/result.h"

namespace polystate {

// What an elementwise operator does to numbers that lie one after another, `count` of each operand.
template <typename Number, typename Made = Number>
using Loop = void (*)(const Number* const* operands, Made* results, std::int64_t count);

// What becomes of a number, or of a tensor without dimensions, that goes with tensors.
enum class Numbers : std::uint8_t {
  kConverted,  // to their type; there is no float beside integers
  kKept,       // float32 beside 16 bits, as in PyTorch's arithmetic; otherwise as above
  kCutOff,     // to an integer beside integers; otherwise as the first
};

// Of one operator, by the result's type; null where the operator has no results of that kind.
struct Loops {
  Loop<float> of_floats = nullptr;  // of 16 bits, too
  Loop<double> of_doubles = nullptr;
  Loop<std::int64_t> of_integers = nullptr;  // and bools; a smaller type has the low bits
  Numbers numbers = Numbers::kConverted;
};

// Of one operator that has bools as results, by the type of what it asks about.
struct Questions {
  Loop<float, bool> of_floats = nullptr;  // of 16 bits, too
  Loop<double, bool> of_doubles = nullptr;
  Loop<std::int64_t, bool> of_integers = nullptr;
  Loop<std::uint8_t, bool> of_bools = nullptr;  // 0 or 1
};

// What an elementwise operator takes before its result, as its schema says.
class OperandKinds {
 public:
  enum class Kind : std::uint8_t { kTensor, kNumber, kText };

  // As the operator is compiled: reading a schema takes longer than adding up small tensors.
  // NOLINTNEXTLINE(google-explicit-constructor): a schema stands for what it says
  consteval OperandKinds(const OperatorSchema& schema) : count_(schema.argument_count() - 1) {
    for (std::size_t i = 0; i < count_; ++i) {
      const std::string_view type = schema.type_of(i);
      const Kind other = type == "str" ? Kind::kText : Kind::kNumber;
      kinds_.at(i) = type.starts_with("Tensor") ? Kind::kTensor : other;
      may_be_absent_.at(i) = type.ends_with('?');
    }
  }

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] Kind at(std::size_t index) const { return kinds_[index]; }
  [[nodiscard]] bool may_be_absent(std::size_t index) const { return may_be_absent_[index]; }

 private:
  static constexpr std::size_t kMost = 6;

  std::size_t count_;
  std::array<Kind, kMost> kinds_{};
  std::array<bool, kMost> may_be_absent_{};
};

// Computes the last argument from the others, tensors that are broadcast and numbers; texts, and
// what may be absent and is, are no operands. All are converted to the type of the result first, as
// PyTorch's are to their common type: of a whole number that does not fit it has the low bits.
Status compute_elements(ProgramArguments& arguments, const OperandKinds& kinds, const Loops& loops);

// The same where the result is of bools: the others are converted to their common type.
Status answer_questions(ProgramArguments& arguments, const OperandKinds& kinds,
                        const Questions& questions);

// `Function::of` of each element of one operand, of two or of three.
template <typename Function, typename Number, typename Made = Number>
void each_element(const Number* const* operands, Made* results, std::int64_t count) {
  const Number* const first = operands[0];
  if constexpr (requires(Number x) { Function::of(x); }) {
    for (std::int64_t i = 0; i < count; ++i) results[i] = Function::of(first[i]);
  } else if constexpr (requires(Number x) { Function::of(x, x); }) {
    const Number* const second = operands[1];
    for (std::int64_t i = 0; i < count; ++i) results[i] = Function::of(first[i], second[i]);
  } else {
    const Number* const second = operands[1];
    const Number* const third = operands[2];
    for (std::int64_t i = 0; i < count; ++i) {
      results[i] = Function::of(first[i], second[i], third[i]);
    }
  }
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
Loops vectorised_loops_of_all() {
  Loops loops = vectorised_loops<Function>();
  loops.of_integers = vectorised<&each_element<Function, std::int64_t>>(best_instruction_set());
  return loops;
}

template <typename Function>
Questions vectorised_questions() {
  const InstructionSet set = best_instruction_set();
  return {.of_floats = vectorised<&each_element<Function, float, bool>>(set),
          .of_doubles = vectorised<&each_element<Function, double, bool>>(set),
          .of_integers = vectorised<&each_element<Function, std::int64_t, bool>>(set),
          .of_bools = vectorised<&each_element<Function, std::uint8_t, bool>>(set)};
}

// Texts in one, without their ends.
template <std::size_t... kSizes>
constexpr auto joined(const char (&... texts)[kSizes]) {
  std::array<char, (kSizes + ...) - sizeof...(kSizes)> result{};
  std::size_t at = 0;
  const auto append = [&](const char* text, std::size_t size) {
    for (std::size_t i = 0; i + 1 < size; ++i) result[at++] = text[i];
  };
  (append(texts, kSizes), ...);
  return result;
}

template <std::size_t kSize>
constexpr OperatorSchema schema_of(const std::array<char, kSize>& text) {
  return OperatorSchema({text.data(), kSize});
}

// An operator of PyTorch over a function of floats: `Function::kName` is its name, `kForm` the rest
// of its schema.
template <typename Function, const auto& kForm>
struct OfFloats {
  static constexpr auto kText = joined("aten::", Function::kName, kForm);
  static constexpr OperatorSchema kSchema = schema_of(kText);
  static Status run(ProgramArguments& arguments) {
    return compute_elements(arguments, kSchema, kFloatLoops<Function>);
  }
};

inline constexpr char kFormOfOne[] = ".out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)";
inline constexpr char kFormOfTwo[] =
    ".out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
inline constexpr char kFormOfNumberAndOther[] =
    ".self_scalar_out(Scalar self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)";
inline constexpr char kFormOfSelfAndNumber[] =
    ".other_scalar_out(Tensor self, Scalar other, *, Tensor(a!) out) -> Tensor(a!)";

template <typename Function>
using OfOne = OfFloats<Function, kFormOfOne>;
// Of a function whose form for float32 has no branches or calls.
template <typename Function>
struct VectorisedOfOne : OfOne<Function> {
  static Status run(ProgramArguments& arguments) {
    Loops loops = kFloatLoops<Function>;
    loops.of_floats = vectorised<&each_element<Function, float>>(best_instruction_set());
    return compute_elements(arguments, OfOne<Function>::kSchema, loops);
  }
};
template <typename Function>
using OfTwo = OfFloats<Function, kFormOfTwo>;
template <typename Function>
using OfNumberAndOther = OfFloats<Function, kFormOfNumberAndOther>;
template <typename Function>
using OfSelfAndNumber = OfFloats<Function, kFormOfSelfAndNumber>;

}  // namespace polystate
