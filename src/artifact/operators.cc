#include "artifact/operators.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <string_view>

#include "polystate/artifact/expression.h"

namespace polystate {
namespace {

using Op = Expression::Op;

constexpr std::size_t kAnyNumber = Expression::kMaxSteps;

constexpr std::array<Operator, 16> kOperators = {{
    {"or", Op::kOr, 2, kAnyNumber, 1},
    {"and", Op::kAnd, 2, kAnyNumber, 2},
    {"not", Op::kNot, 1, 1, 3},
    {"==", Op::kEqual, 2, 2, 4},
    {"!=", Op::kNotEqual, 2, 2, 4},
    {"<", Op::kLess, 2, 2, 4},
    {"<=", Op::kLessEqual, 2, 2, 4},
    {">", Op::kGreater, 2, 2, 4},
    {">=", Op::kGreaterEqual, 2, 2, 4},
    {"+", Op::kAdd, 2, kAnyNumber, 5},
    {"*", Op::kMultiply, 2, kAnyNumber, 6},
    {"//", Op::kFloorDivide, 2, 2, 6},
    {"%", Op::kModulo, 2, 2, 6},
    {"**", Op::kPower, 2, 2, 7},
    {"min", Op::kMin, 2, kAnyNumber, kLeafStrength},
    {"max", Op::kMax, 2, kAnyNumber, kLeafStrength},
}};

}  // namespace

const Operator& operator_of(Expression::Op op) {
  const auto* found = std::find_if(kOperators.begin(), kOperators.end(),
                                   [op](const Operator& candidate) { return candidate.op == op; });
  assert(found != kOperators.end());
  return *found;
}

const Operator* operator_named(std::string_view name) {
  const auto* found =
      std::find_if(kOperators.begin(), kOperators.end(),
                   [name](const Operator& candidate) { return candidate.name == name; });
  return found == kOperators.end() ? nullptr : found;
}

}  // namespace polystate
