#include "chat_template/number_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "chat_template/number.h"
#include "chat_template/rendering.h"
#include "chat_template/string_positions.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/plain_numbers.h"

namespace polystate::chat_template {
namespace {

constexpr std::int64_t kDefaultPrecision = 6;

// A number in parts: "-", "0x", "1234", ".50%".
struct Parts {
  std::string sign;
  std::string prefix;
  std::string digits;
  std::string rest;
};

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

// What the C library writes for a number that is not negative.
std::string printed(double value, char type, std::int64_t precision, bool alternate) {
  const PlainNumbers plain;
  const std::string pattern = std::string(alternate ? "%#.*" : "%.*") + type;
  const int digits = static_cast<int>(precision);
  const int size = std::snprintf(nullptr, 0, pattern.c_str(), digits, value);
  std::string text(static_cast<std::size_t>(size) + 1, '\0');
  std::snprintf(text.data(), text.size(), pattern.c_str(), digits, value);
  text.pop_back();
  return text;
}

// A float without a type, but with a precision: as 'g', and never without a fraction.
std::string general_text(double value, std::int64_t precision) {
  precision = std::max<std::int64_t>(precision, 1);
  const std::string scientific = printed(value, 'e', precision - 1, false);
  const int exponent = std::stoi(scientific.substr(scientific.find('e') + 1));
  if (exponent < -4 || exponent >= precision - 1) {
    const std::size_t e = scientific.find('e');
    std::string mantissa = scientific.substr(0, e);
    if (mantissa.find('.') != std::string::npos) {
      mantissa.erase(mantissa.find_last_not_of('0') + 1);
      if (mantissa.back() == '.') mantissa.pop_back();
    }
    return mantissa + scientific.substr(e);
  }
  const std::string text = printed(value, 'g', precision, false);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string real_digits(double value, const NumberFormat& format) {
  const char lower = format.type >= 'A' && format.type <= 'Z'
                         ? static_cast<char>(format.type - 'A' + 'a')
                         : format.type;
  if (std::isnan(value) || std::isinf(value)) {
    const std::string text = std::isnan(value) ? "nan" : "inf";
    return lower == format.type ? text : upper_case(text);
  }
  if (lower == 0)
    return format.precision ? general_text(value, *format.precision) : real_text(value);
  const std::int64_t precision = format.precision.value_or(kDefaultPrecision);
  const char type = lower == '%' ? 'f' : lower == 'n' ? 'g' : lower;
  const std::string text = printed(value, type, precision, format.alternate);
  return lower == format.type ? text : upper_case(text);
}

Parts real_parts(double value, const NumberFormat& format) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  double magnitude = std::fabs(value);
  if (format.type == '%') magnitude *= 100;
  std::string text = real_digits(magnitude, format);
  if (format.type == '%') text += '%';
  const std::size_t whole = std::min(text.find_first_not_of("0123456789"), text.size());
  return {negative ? "-" : "", "", text.substr(0, whole), text.substr(whole)};
}

Parts integer_parts(std::int64_t value, const NumberFormat& format) {
  const bool negative = value < 0;
  const std::uint64_t magnitude =
      negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const int base = format.type == 'x' || format.type == 'X' ? 16
                   : format.type == 'o'                     ? 8
                   : format.type == 'b'                     ? 2
                                                            : 10;
  std::array<char, 72> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base).ptr;
  std::string digits(buffer.data(), end);
  std::string prefix;
  if (format.alternate && base != 10) prefix = std::string("0") + format.type;
  if (format.type == 'X') digits = upper_case(digits);
  return {negative ? "-" : "", prefix, digits, ""};
}

std::string grouped(const std::string& digits, char separator, std::size_t size) {
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % size == 0) text += separator;
    text += digits[i];
  }
  return text;
}

bool is_grouped_by_four(char type) {
  return type == 'x' || type == 'X' || type == 'o' || type == 'b';
}

// The least number of digits that are as wide with a separator between each `size` of them. A
// separator is never the first character: there is a digit before it.
std::size_t digits_as_wide(std::size_t width, std::size_t size) {
  return width / (size + 1) * size + std::max<std::size_t>(width % (size + 1), 1);
}

// The digits with the separators that are asked for, and zeros before them up to a width. What has
// no digits, as infinity, is not a matter of groups.
std::string whole_digits(const Parts& parts, const NumberFormat& format, bool zeros) {
  const std::size_t size = is_grouped_by_four(format.type) ? 4 : 3;
  const auto others =
      static_cast<std::int64_t>(parts.sign.size() + parts.prefix.size() + parts.rest.size());
  const auto least = static_cast<std::size_t>(std::max<std::int64_t>(format.width - others, 0));
  std::string digits = parts.digits;
  if (zeros && !digits.empty()) {
    const std::size_t wanted = format.grouping == 0 ? least : digits_as_wide(least, size);
    if (digits.size() < wanted) digits.insert(0, wanted - digits.size(), '0');
  }
  return format.grouping == 0 ? digits : grouped(digits, format.grouping, size);
}

// What a number is written as that its type or format asks to be written as an integer.
bool is_written_as_integer(const Value& number, char type) {
  if (type == 0 || type == 'n') return number.is_integer();
  return std::string_view("bcdoxX").find(type) != std::string_view::npos;
}

bool takes_groups(const NumberFormat& format) {
  if (is_grouped_by_four(format.type)) return format.grouping == '_';
  return format.type != 'c' && format.type != 'n';
}

bool is_sound(Rendering& rendering, const Value& number, const NumberFormat& format) {
  if (std::string_view("bcdeEfFgGnoxX%").find(format.type) == std::string_view::npos &&
      format.type != 0) {
    rendering.fail(std::string("the format '") + format.type + "' is not for numbers");
  } else if (is_written_as_integer(number, format.type) && !number.is_integer()) {
    rendering.fail(std::string("the format '") + format.type + "' is not for a float");
  } else if (is_written_as_integer(number, format.type) && format.precision) {
    rendering.fail("a precision is not for integers");
  } else if (format.precision.value_or(0) > 1'000'000) {
    rendering.fail("a precision is larger than 1000000");
  } else if (format.grouping != 0 && !takes_groups(format)) {
    rendering.fail(std::string("the separator '") + format.grouping + "' is not for '" +
                   format.type + "'");
  }
  return !rendering.failed();
}

}  // namespace

Text formatted_number(Rendering& rendering, const Value& number, const NumberFormat& format) {
  if (!is_sound(rendering, number, format)) return {};
  if (!rendering.may_make_text(static_cast<std::size_t>(std::max<std::int64_t>(format.width, 0) +
                                                        format.precision.value_or(0))))
    return {};
  if (format.type == 'c') {
    const std::int64_t code_point = number.as_integer();
    if (code_point < 0 || code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) {
      rendering.fail("no character has the number " + std::to_string(code_point));
      return {};
    }
    TextBuilder character;
    character.append(static_cast<char32_t>(code_point), number.origin());
    return padded_text(rendering, character.take(), format);
  }
  Parts parts = is_written_as_integer(number, format.type)
                    ? integer_parts(number.as_integer(), format)
                    : real_parts(number.as_real(), format);
  if (parts.sign.empty() && format.sign != '-') parts.sign = std::string(1, format.sign);
  const bool zeros = format.align == '=' && format.fill == "0";
  const std::string digits = whole_digits(parts, format, zeros);
  TextBuilder text;
  NumberFormat padding = format;
  padding.precision = std::nullopt;
  if (padding.align == 0) padding.align = '>';
  if (padding.align != '=') {
    text.append(parts.sign + parts.prefix + digits + parts.rest, number.origin());
    return padded_text(rendering, text.take(), padding);
  }
  const auto before = static_cast<std::int64_t>(parts.sign.size() + parts.prefix.size());
  text.append(digits + parts.rest, number.origin());
  padding.align = '>';
  padding.width -= before;
  const Text padded = padded_text(rendering, text.take(), padding);
  text.append(parts.sign + parts.prefix, number.origin());
  text.append(padded);
  return text.take();
}

Text padded_text(Rendering& rendering, const Text& text, const NumberFormat& format) {
  const StringPositions positions(text.bytes());
  const std::int64_t count =
      std::min(positions.count(), format.precision.value_or(positions.count()));
  const std::int64_t missing = std::max<std::int64_t>(format.width - count, 0);
  if (!rendering.may_make_text(text.size() + static_cast<std::size_t>(missing))) return {};
  const std::int64_t before = format.align == '>' ? missing : format.align == '^' ? missing / 2 : 0;
  TextBuilder padded;
  const auto pad = [&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) padded.append(format.fill, Origin::kTemplate);
  };
  pad(before);
  padded.append(text, 0, positions.byte_of(count));
  pad(missing - before);
  return padded.take();
}

}  // namespace polystate::chat_template
