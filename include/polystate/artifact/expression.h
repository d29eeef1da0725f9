#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

// Integer arithmetic over a method's symbols (sizes of dynamic dimensions), as the manifest writes it: an integer, a symbol's
// name, or [operator, operands...] (docs/artifact.md lists the operators). Stored in postfix order; evaluation allocates nothing.
class Expression {
 public:
  enum class Op : std::uint8_t {
    kConstant, kSymbol,                                     // leaves
    kAdd, kMultiply, kFloorDivide, kModulo, kPower, kMin, kMax,  // integers; // and % round towards minus infinity
    kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kAnd, kOr, kNot,  // truth values: 0 or 1
  };
  struct Step {
    Op op;
    std::int64_t operand;  // the constant, or the symbol's index
  };

  // The deepest stack that an evaluation may need; create refuses more.
  static constexpr std::size_t kMaxDepth = 64;

  static Expression constant(std::int64_t value);
  // Checks that `steps` leave exactly one value and name only symbols below `symbol_count`; kArtifact otherwise.
  static Result<Expression> create(std::vector<Step> steps, std::size_t symbol_count);

  // The value where symbol i is symbols[i]. kContract on overflow, division by zero or a negative exponent.
  [[nodiscard]] Result<std::int64_t> evaluate(std::span<const std::int64_t> symbols) const;

  [[nodiscard]] bool is_constant() const { return steps_.size() == 1 && steps_[0].op == Op::kConstant; }
  [[nodiscard]] std::span<const Step> steps() const { return steps_; }

 private:
  explicit Expression(std::vector<Step> steps);
  std::vector<Step> steps_;
};

}  // namespace polystate
