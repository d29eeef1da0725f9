#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

// Integer arithmetic over a method's symbols (sizes of dynamic dimensions), as the manifest writes
// it: an integer, a symbol's name, or [operator, operands...] (docs/artifact.md lists the
// operators). Stored in postfix order; evaluation allocates nothing unless it fails. Every operand
// is evaluated, so a failure in one that would not decide the value counts too.
class Expression {
 public:
  enum class Op : std::uint8_t {
    // Leaves.
    kConstant,
    kSymbol,
    // Integers; // and % round towards minus infinity, as Python's.
    kAdd,
    kMultiply,
    kFloorDivide,
    kModulo,
    kPower,
    kMin,
    kMax,
    // Truth values: 0 or 1, of operands that are true unless they are 0.
    kEqual,
    kNotEqual,
    kLess,
    kLessEqual,
    kGreater,
    kGreaterEqual,
    kAnd,
    kOr,
    kNot,
  };
  struct Step {
    Op op;
    std::int64_t operand;  // the constant, or the symbol's index; 0 for operators
  };

  // The deepest stack that an evaluation may need, and the most steps; create refuses more.
  static constexpr std::size_t kMaxDepth = 64;
  static constexpr std::size_t kMaxSteps = 1024;

  static Expression constant(std::int64_t value);
  // Checks that `steps` leave exactly one value and name only symbols below `symbol_count`;
  // kArtifact otherwise.
  static Result<Expression> create(std::vector<Step> steps, std::size_t symbol_count);

  // The value where symbol i is symbols[i]. kContract on overflow, division by zero or a negative
  // exponent, with the operands.
  [[nodiscard]] Result<std::int64_t> evaluate(std::span<const std::int64_t> symbols) const;

  // As people write it, "2 * batch + 1", where symbol i is called symbols[i].
  [[nodiscard]] std::string to_string(std::span<const std::string> symbols) const;

  [[nodiscard]] bool is_constant() const {
    return steps_.size() == 1 && steps_[0].op == Op::kConstant;
  }
  // Whether it is symbol `index` and nothing else.
  [[nodiscard]] bool is_symbol(std::size_t index) const {
    return steps_.size() == 1 && steps_[0].op == Op::kSymbol &&
           static_cast<std::size_t>(steps_[0].operand) == index;
  }
  // Whether symbol `index` occurs in it.
  [[nodiscard]] bool refers_to(std::size_t index) const;
  [[nodiscard]] std::span<const Step> steps() const { return steps_; }

 private:
  explicit Expression(std::vector<Step> steps);
  std::vector<Step> steps_;
};

}  // namespace polystate
