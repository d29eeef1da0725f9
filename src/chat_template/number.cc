#include "chat_template/number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "chat_template/characters.h"
#include "chat_template/value.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

// Text without the space around it, its decimals as ASCII; none where other characters are not
// ASCII.
std::optional<std::string> plain_number(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character character = character_at(text, i);
    i += character.size;
    const char32_t code_point = character.code_point;
    if (is_space(code_point)) {
      plain += ' ';
    } else if (code_point < 0x80) {
      plain += static_cast<char>(code_point);
    } else if (is_decimal(code_point)) {
      plain += static_cast<char>('0' + decimal_value(code_point));
    } else {
      return std::nullopt;
    }
  }
  const std::size_t begin = plain.find_first_not_of(' ');
  if (begin == std::string::npos) return std::nullopt;
  return plain.substr(begin, plain.find_last_not_of(' ') + 1 - begin);
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return std::numeric_limits<int>::max();
}

// The base of a text without one, from its prefix: "0x" and the like.
int base_of_prefix(std::string_view digits) {
  if (digits.size() < 2 || digits[0] != '0') return 10;
  switch (digits[1]) {
    case 'x':
    case 'X':
      return 16;
    case 'o':
    case 'O':
      return 8;
    case 'b':
    case 'B':
      return 2;
    default:
      return 10;
  }
}

// Removes '_' between digits; false where one is elsewhere.
bool remove_underscores(std::string& text, bool (*is_digit)(char)) {
  std::string without;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      without += text[i];
      continue;
    }
    if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1]))
      return false;
  }
  text = without;
  return true;
}

// Removes the prefix of a base, "0x" and the like, and puts that base in the place of 0. False
// where an octal number of another language begins.
bool remove_prefix(std::string& digits, int& base) {
  const int prefix = base_of_prefix(digits);
  if (prefix != 10 && (base == 0 || base == prefix)) {
    digits.erase(0, digits.size() > 2 && digits[2] == '_' ? 3 : 2);
    base = prefix;
    return true;
  }
  if (base != 0) return true;
  base = 10;
  return !digits.starts_with('0') || digits.find_first_not_of("0_") == std::string::npos;
}

// Whether a text is a number of a base; removes the '_' in it.
bool are_digits(std::string& digits, int base) {
  if (digits.empty()) return false;
  if (!remove_underscores(digits, [](char c) { return digit_of(c) < 36; })) return false;
  return std::ranges::all_of(digits, [base](char c) { return digit_of(c) < base; });
}

}  // namespace

std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  if (a.is_integer() && b.is_integer()) return a.as_integer() <=> b.as_integer();
  const auto exact = [](const Value& value) {
    return value.is_integer() ? static_cast<long double>(value.as_integer())
                              : static_cast<long double>(value.as_real());
  };
  return exact(a) <=> exact(b);
}

std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 64> buffer{};
  const auto as_text = [&](std::chars_format format) {
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format);
    return std::string(buffer.data(), result.ptr);
  };
  std::string scientific = as_text(std::chars_format::scientific);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= 16) return scientific;
  std::string fixed = as_text(std::chars_format::fixed);
  if (fixed.find('.') == std::string::npos) fixed += ".0";
  return fixed;
}

std::optional<double> parse_real(std::string_view text) {
  std::optional<std::string> plain = plain_number(text);
  if (!plain) return std::nullopt;
  if (!remove_underscores(*plain, [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  std::string digits = *plain;
  const bool negative = digits[0] == '-';
  if (negative || digits[0] == '+') digits.erase(0, 1);
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  if (rest != end || error == std::errc::invalid_argument) return std::nullopt;
  if (digits.find('(') != std::string::npos) return std::nullopt;  // nan(...)
  if (error == std::errc::result_out_of_range) {
    const std::size_t exponent = digits.find_first_of("eE");
    const bool tiny = exponent != std::string::npos && exponent + 1 < digits.size() &&
                      digits[exponent + 1] == '-';
    value = tiny ? 0 : std::numeric_limits<double>::infinity();
  }
  return negative ? -value : value;
}

ParsedInteger parse_integer(std::string_view text, int base) {
  using Outcome = ParsedInteger::Outcome;
  std::optional<std::string> plain = plain_number(text);
  if (!plain) return {Outcome::kNone};
  std::string& digits = *plain;
  const bool negative = digits[0] == '-';
  if (negative || digits[0] == '+') digits.erase(0, 1);
  if (!remove_prefix(digits, base) || !are_digits(digits, base)) return {Outcome::kNone};
  if (negative) digits.insert(digits.begin(), '-');
  std::int64_t value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value, base);
  if (error != std::errc()) return {Outcome::kTooLarge};
  return {Outcome::kValue, value};
}

}  // namespace polystate::chat_template
