#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chat_template/value.h"

namespace polystate::chat_template {

// Compares two numbers by what they stand for, whatever their types.
std::partial_ordering compare_numbers(const Value& a, const Value& b);

// repr() of a float.
std::string real_text(double value);

// float() of a text; none where Python refuses it.
std::optional<double> parse_real(std::string_view text);

// int() of a text; `base`: 0, or 2 to 36.
struct ParsedInteger {
  enum class Outcome : std::uint8_t { kValue, kNone, kTooLarge };
  Outcome outcome;
  std::int64_t value = 0;
};
ParsedInteger parse_integer(std::string_view text, int base);

}  // namespace polystate::chat_template
