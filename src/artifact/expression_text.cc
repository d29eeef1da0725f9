#include <cassert>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/operators.h"
#include "polystate/artifact/expression.h"

namespace polystate {
namespace {

using Op = Expression::Op;

// A part of an expression as text, and how strongly its outermost operator binds.
struct Text {
  std::string text;
  int strength;
};

std::string parenthesised_unless(bool binds, const std::string& text) {
  return binds ? text : "(" + text + ")";
}

Text negate(const Text& operand) {
  const int strength = operator_of(Op::kNot).strength;
  return {"not " + parenthesised_unless(operand.strength >= strength, operand.text), strength};
}

Text join(Op op, const Text& left, const Text& right) {
  const Operator& how = operator_of(op);
  const std::string name(how.name);
  if (how.strength == kLeafStrength) {
    return {name + "(" + left.text + ", " + right.text + ")", how.strength};
  }

  // Comparisons would chain, and powers group from the right: there both operands need parentheses.
  const bool groups_from_left =
      op != Op::kPower && how.strength != operator_of(Op::kEqual).strength;
  const bool left_binds =
      groups_from_left ? left.strength >= how.strength : left.strength > how.strength;
  const std::string first = parenthesised_unless(left_binds, left.text);
  if (op == Op::kAdd && right.strength == kLeafStrength && right.text.starts_with('-')) {
    return {first + " - " + right.text.substr(1), how.strength};
  }
  const bool right_binds = right.strength > how.strength;
  return {first + " " + name + " " + parenthesised_unless(right_binds, right.text), how.strength};
}

}  // namespace

std::string Expression::to_string(std::span<const std::string> symbols) const {
  std::vector<Text> stack;
  for (const Step& step : steps_) {
    if (step.op == Op::kConstant) {
      stack.push_back({std::to_string(step.operand), kLeafStrength});
    } else if (step.op == Op::kSymbol) {
      assert(static_cast<std::size_t>(step.operand) < symbols.size());
      stack.push_back({symbols[static_cast<std::size_t>(step.operand)], kLeafStrength});
    } else if (step.op == Op::kNot) {
      stack.back() = negate(stack.back());
    } else {
      const Text right = std::move(stack.back());
      stack.pop_back();
      stack.back() = join(step.op, stack.back(), right);
    }
  }
  return stack.back().text;
}

}  // namespace polystate
