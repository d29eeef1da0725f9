#pragma once

#include <cstddef>
#include <string_view>

#include "polystate/artifact/expression.h"

namespace polystate {

// What is to be known of an operator of expressions.
struct Operator {
  std::string_view name;  // in the manifest and in messages
  Expression::Op op;
  std::size_t least_operands;
  std::size_t most_operands;
  int strength;  // how strongly it binds its operands, in Python's order
};

// Binds stronger than any operator: leaves, and calls of functions.
constexpr int kLeafStrength = 8;

// `op` must not be a leaf.
const Operator& operator_of(Expression::Op op);
// nullptr where there is none of that name.
const Operator* operator_named(std::string_view name);

}  // namespace polystate
