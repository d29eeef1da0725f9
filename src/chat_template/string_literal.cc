#include "chat_template/string_literal.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/utf8.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {
namespace {

// The escapes of one character.
char simple_escape(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'a':
      return '\a';
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    case '\\':
    case '\'':
    case '"':
      return c;
    default:
      return '\0';
  }
}

std::size_t hexadecimal_digits(char c) {
  switch (c) {
    case 'x':
      return 2;
    case 'u':
      return 4;
    case 'U':
      return 8;
    default:
      return 0;
  }
}

bool is_octal(char c) { return c >= '0' && c <= '7'; }

Error refused(std::string_view message) { return {ErrorCode::kContract, std::string(message)}; }

// Appends the character of the digits, all of `digits`.
Status append_numbered(const std::string& digits, int base, std::string& text) {
  std::uint32_t number = 0;
  const char* const end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, number, base).ptr != end)
    return refused("truncated escape in a string");
  if (number > 0x10FFFF || (number >= 0xD800 && number < 0xE000))
    return refused("an escape in a string is no character");
  append_character(number, text);
  return {};
}

// Appends a backslash that begins no escape, and the character behind it; gives its size.
std::size_t append_backslash(std::string_view rest, std::string& text) {
  text += '\\';
  const Utf8Character character = character_at(rest, 0);
  if (character.code_point < 0x80) {
    text += rest[0];
    return 1;
  }
  // Python has made an escape of the character before it looks at this one.
  constexpr std::string_view kDigits = "0123456789abcdef";
  const unsigned digits = character.code_point < 0x100 ? 2 : character.code_point < 0x10000 ? 4 : 8;
  text += digits == 2 ? 'x' : digits == 4 ? 'u' : 'U';
  for (unsigned i = digits; i > 0; --i)
    text += kDigits[(character.code_point >> (4 * (i - 1))) & 0xFU];
  return character.size;
}

// Appends what an escape stands for, which begins behind the backslash; gives its size.
Result<std::size_t> append_escape(std::string_view rest, std::string& text) {
  const char c = rest[0];
  if (const char plain = simple_escape(c); plain != 0) {
    text += plain;
    return std::size_t{1};
  }
  if (c == '\n') return std::size_t{1};
  if (c == 'N') return refused("the escape \\N{...} in a string is not supported");
  if (const std::size_t digits = hexadecimal_digits(c); digits > 0) {
    if (rest.size() < digits + 1) return refused("truncated escape in a string");
    const Status done = append_numbered(std::string(rest.substr(1, digits)), 16, text);
    if (!done) return done.error();
    return digits + 1;
  }
  if (is_octal(c)) {
    std::size_t size = 1;
    while (size < 3 && size < rest.size() && is_octal(rest[size])) ++size;
    const Status done = append_numbered(std::string(rest.substr(0, size)), 8, text);
    if (!done) return done.error();
    return size;
  }
  return append_backslash(rest, text);
}

}  // namespace

Result<std::string> unescaped(std::string_view literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.size();) {
    if (literal[i] != '\\') {
      text += literal[i++];
      continue;
    }
    const Result<std::size_t> size = append_escape(literal.substr(i + 1), text);
    if (!size) return size.error();
    i += 1 + *size;
  }
  return text;
}

}  // namespace polystate::chat_template
