#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// Python's operators. They fail for operands that Python refuses, and where an integer would have
// more than 64 bits.

enum class BinaryOperator : std::uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kRemainder,
  kPower
};
Value binary(Rendering& rendering, BinaryOperator op, const Value& a, const Value& b);

enum class UnaryOperator : std::uint8_t { kNegate, kKeep };
Value unary(Rendering& rendering, UnaryOperator op, const Value& operand);

enum class Comparison : std::uint8_t {
  kEqual,
  kNotEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kIn,
  kNotIn
};
bool compare(Rendering& rendering, Comparison op, const Value& a, const Value& b);
inline bool less(Rendering& rendering, const Value& a, const Value& b) {
  return compare(rendering, Comparison::kLess, a, b);
}

// `values` with their texts joined, as `~` does.
Value concatenate(Rendering& rendering, const Elements& values);

// object[start:stop:step]; none: not given.
struct Slice {
  Value start;
  Value stop;
  Value step;
};
Value slice(Rendering& rendering, const Value& object, const Slice& slice);

// What a slice picks of `length` elements: `count` from `first` on, `step` apart.
struct SliceRange {
  std::int64_t first;
  std::int64_t step;
  std::int64_t count;
};
std::optional<SliceRange> slice_range(Rendering& rendering, const Slice& slice,
                                      std::int64_t length);

// A text with the characters that mean something in HTML escaped.
Text escaped_html(const Text& text);

}  // namespace polystate::chat_template
