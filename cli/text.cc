#include "cli/text.h"

#include <wchar.h>  // wcwidth, which is POSIX's

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/utf8.h"

namespace polystate::cli {
namespace {

void append_escaped(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += "\\x";
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 0xFU];
  }
}

// Unicode's White_Space, and what has no width.
bool is_blank_character(char32_t c) {
  return c == U' ' || (c >= U'\t' && c <= U'\r') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200B) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000 || c == 0xFEFF;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const std::size_t size = character.size == 0 ? 1 : character.size;
    if (character.size == 0 || is_unsafe_to_show(character.code_point)) {
      append_escaped(out, text.substr(0, size));
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    const int columns = ::wcwidth(static_cast<wchar_t>(character.code_point));
    width += columns < 0 ? 1 : static_cast<std::size_t>(columns);
    text.remove_prefix(character.size == 0 ? 1 : character.size);
  }
  return width;
}

std::size_t first_character_size(std::string_view text) {
  const Utf8Character character = first_character(text);
  return character.size == 0 ? 1 : character.size;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {" KiB", " MiB", " GiB", " TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would round to 1024.0.
  for (; value >= 1023.95 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                          std::chars_format::fixed, 1);
  return std::string(buffer.data(), end) + std::string(kUnits.at(unit));
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

std::string call_name(std::size_t index) {
  const std::string digits = std::to_string(index);
  return "call_" + std::string(digits.size() < 3 ? 3 - digits.size() : 0, '0') + digits;
}

std::string empty_fault(const std::string& path) {
  return path.empty() ? "a file's name is empty" : "";
}

std::string utf8_fault(const std::string& text) {
  return is_utf8(text) ? "" : "'" + printable(text) + "' is no UTF-8";
}

bool is_blank(std::string_view line) {
  while (!line.empty()) {
    const Utf8Character character = first_character(line);
    if (character.size == 0 || !is_blank_character(character.code_point)) return false;
    line.remove_prefix(character.size);
  }
  return true;
}

}  // namespace polystate::cli
