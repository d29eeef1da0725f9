#include "artifact/names.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace polystate {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_ascii_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

unsigned char byte_at(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

// U+0000 to U+001F, U+007F, and U+0080 to U+009F (C2 80 to C2 9F).
bool has_control(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned char byte = byte_at(text, i);
    if (byte < 0x20 || byte == 0x7F) return true;
    if (byte == 0xC2 && i + 1 < text.size() && byte_at(text, i + 1) < 0xA0) return true;
  }
  return false;
}

// U+2000 to U+206F (E2 80 80 to E2 81 AF): spaces, directions, joiners.
bool has_formatting(std::string_view text) {
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (byte_at(text, i) != 0xE2) continue;
    const unsigned char second = byte_at(text, i + 1);
    if (second == 0x80 || (second == 0x81 && byte_at(text, i + 2) <= 0xAF)) return true;
  }
  return false;
}

bool is_shown_as_written(std::string_view text) {
  return !has_control(text) && !has_formatting(text);
}

// How many bytes a character has that begins with `first`; 0 where none does.
std::size_t length_after(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF5 ? 4 : 0;
}

// The bytes of the character that `bytes` begin with; 0 where they begin with none.
std::size_t length_of_character(std::string_view bytes) {
  const unsigned char first = byte_at(bytes, 0);
  const std::size_t length = length_after(first);
  if (length > bytes.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte_at(bytes, i) < 0x80 || byte_at(bytes, i) > 0xBF) return 0;
  }
  if (length < 3) return length;
  const unsigned char second = byte_at(bytes, 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F;
  const bool too_large = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : length;
}

bool is_name_part(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return is_ascii_word(c) || c == '-' || is_beyond_ascii(c);
  });
}

}  // namespace

bool is_identifier(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || is_digit(name[0]) ||
      !is_shown_as_written(name)) {
    return false;
  }
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_ascii_word(c) || is_beyond_ascii(c); });
}

bool is_dotted_name(std::string_view name) {
  if (name.size() > kLongestName || !is_shown_as_written(name)) return false;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    if (!is_name_part(name.substr(0, dot))) return false;
    name.remove_prefix(dot + 1);
  }
  return is_name_part(name);
}

bool is_file_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_ascii_word(c) || c == '.' || c == '-'; });
}

bool is_printable(std::string_view text) { return !has_control(text); }

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = length_of_character(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

}  // namespace polystate
