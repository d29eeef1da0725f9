#include "polystate/artifact/expression.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/operators.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using Op = Expression::Op;

bool is_leaf(Op op) { return op == Op::kConstant || op == Op::kSymbol; }

std::optional<std::int64_t> add(std::int64_t left, std::int64_t right) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(left, right, &sum)) return std::nullopt;
  return sum;
}

std::optional<std::int64_t> multiply(std::int64_t left, std::int64_t right) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(left, right, &product)) return std::nullopt;
  return product;
}

std::optional<std::int64_t> floor_divide(std::int64_t left, std::int64_t right) {
  if (right == 0) return std::nullopt;
  if (right == -1) return multiply(left, -1);
  const bool rounds_up = left % right != 0 && (left < 0) != (right < 0);
  return left / right - (rounds_up ? 1 : 0);
}

std::optional<std::int64_t> modulo(std::int64_t left, std::int64_t right) {
  if (right == 0) return std::nullopt;
  if (right == -1) return 0;
  const std::int64_t remainder = left % right;
  return remainder != 0 && (remainder < 0) != (right < 0) ? remainder + right : remainder;
}

std::optional<std::int64_t> power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  std::optional<std::int64_t> result = 1;
  std::optional<std::int64_t> square = base;  // base ** (2 ** i)
  while (exponent > 0 && result) {
    if (!square) return std::nullopt;
    if (exponent % 2 == 1) result = multiply(*result, *square);
    square = multiply(*square, *square);
    exponent /= 2;
  }
  return result;
}

std::optional<std::int64_t> apply(Op op, std::int64_t left, std::int64_t right) {
  switch (op) {
    case Op::kAdd:
      return add(left, right);
    case Op::kMultiply:
      return multiply(left, right);
    case Op::kFloorDivide:
      return floor_divide(left, right);
    case Op::kModulo:
      return modulo(left, right);
    case Op::kPower:
      return power(left, right);
    case Op::kMin:
      return std::min(left, right);
    case Op::kMax:
      return std::max(left, right);
    case Op::kEqual:
      return left == right ? 1 : 0;
    case Op::kNotEqual:
      return left != right ? 1 : 0;
    case Op::kLess:
      return left < right ? 1 : 0;
    case Op::kLessEqual:
      return left <= right ? 1 : 0;
    case Op::kGreater:
      return left > right ? 1 : 0;
    case Op::kGreaterEqual:
      return left >= right ? 1 : 0;
    case Op::kAnd:
      return left != 0 && right != 0 ? 1 : 0;
    case Op::kOr:
      return left != 0 || right != 0 ? 1 : 0;
    case Op::kConstant:
    case Op::kSymbol:
    case Op::kNot:
      break;
  }
  assert(false);
  return std::nullopt;
}

Error failure(Op op, std::int64_t left, std::int64_t right) {
  const std::string text =
      std::to_string(left) + " " + std::string(operator_of(op).name) + " " + std::to_string(right);
  const bool divides = op == Op::kFloorDivide || op == Op::kModulo;
  if (divides && right == 0) return {ErrorCode::kContract, text + " divides by zero"};
  if (op == Op::kPower && right < 0) {
    return {ErrorCode::kContract, text + " has a negative exponent"};
  }
  return {ErrorCode::kContract, text + " does not fit 64 bits"};
}

}  // namespace

Expression::Expression(std::vector<Step> steps) : steps_(std::move(steps)) {}

Expression Expression::constant(std::int64_t value) { return Expression({{Op::kConstant, value}}); }

Result<Expression> Expression::create(std::vector<Step> steps, std::size_t symbol_count) {
  if (steps.size() > kMaxSteps) {
    return Error{ErrorCode::kArtifact, "an expression has " + std::to_string(steps.size()) +
                                           " steps; the limit is " + std::to_string(kMaxSteps)};
  }
  std::size_t depth = 0;
  for (const Step& step : steps) {
    const std::size_t operands = is_leaf(step.op) ? 0 : step.op == Op::kNot ? 1 : 2;
    if (depth < operands) {
      return Error{ErrorCode::kArtifact,
                   "operator " + std::string(operator_of(step.op).name) + " lacks an operand"};
    }
    if (step.op == Op::kSymbol &&
        (step.operand < 0 || static_cast<std::size_t>(step.operand) >= symbol_count)) {
      return Error{ErrorCode::kArtifact, "symbol " + std::to_string(step.operand) +
                                             " is not one of the " + std::to_string(symbol_count) +
                                             " that there are"};
    }
    depth = depth - operands + 1;
    if (depth > kMaxDepth) {
      return Error{ErrorCode::kArtifact,
                   "an expression needs a stack deeper than " + std::to_string(kMaxDepth)};
    }
  }
  if (depth != 1) {
    return Error{ErrorCode::kArtifact,
                 "an expression leaves " + std::to_string(depth) + " values; it must leave 1"};
  }
  return Expression(std::move(steps));
}

Result<std::int64_t> Expression::evaluate(std::span<const std::int64_t> symbols) const {
  std::array<std::int64_t, kMaxDepth> stack;
  std::size_t depth = 0;
  for (const Step& step : steps_) {
    if (step.op == Op::kConstant) {
      stack[depth++] = step.operand;
    } else if (step.op == Op::kSymbol) {
      assert(static_cast<std::size_t>(step.operand) < symbols.size());
      stack[depth++] = symbols[static_cast<std::size_t>(step.operand)];
    } else if (step.op == Op::kNot) {
      stack[depth - 1] = stack[depth - 1] == 0 ? 1 : 0;
    } else {
      const std::int64_t right = stack[--depth];
      const std::int64_t left = stack[depth - 1];
      const std::optional<std::int64_t> value = apply(step.op, left, right);
      if (!value) return failure(step.op, left, right);
      stack[depth - 1] = *value;
    }
  }
  return stack[0];
}

bool Expression::refers_to(std::size_t index) const {
  return std::any_of(steps_.begin(), steps_.end(), [index](const Step& step) {
    return step.op == Op::kSymbol && static_cast<std::size_t>(step.operand) == index;
  });
}

}  // namespace polystate
