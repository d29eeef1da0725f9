#include "core/utf8.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace polystate {

Utf8Character first_character(std::string_view text) {
  constexpr Utf8Character kNone = {0, 0};
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return kNone;
  char32_t code_point = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return kNone;
    code_point = (code_point << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < kSmallest.at(size) || code_point > 0x10FFFF || is_surrogate) return kNone;
  return {code_point, size};
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = first_character(bytes).size;
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

bool is_control(char32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

bool is_unsafe_to_show(char32_t c) {
  return is_control(c) || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace polystate
