#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace polystate {

// A character of UTF-8: its code point, and how many bytes it takes.
struct Utf8Character {
  char32_t code_point;
  std::uint32_t size;
};

// U+FFFD, which stands for what cannot be decoded.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

// For any bytes.

// The character that non-empty `text` begins with; of no bytes where the text is not valid there
// (Unicode 15, table 3-7: overlong forms, surrogates and values over U+10FFFF are not).
Utf8Character first_character(std::string_view text);

// The length of the longest prefix that is ASCII.
std::size_t ascii_prefix(std::string_view text);

// The length of the longest prefix that is valid UTF-8.
std::size_t valid_prefix(std::string_view text);

// Whether all of `bytes` are UTF-8.
bool is_utf8(std::string_view bytes);

// What valid_prefix stopped at: how many bytes one U+FFFD stands for (Unicode 15, section 3.9,
// "substitution of maximal subparts"), and whether more bytes could still make it a character.
struct MalformedUtf8 {
  std::uint32_t size;
  bool incomplete;
};
MalformedUtf8 malformed_at(std::string_view text);

// The length of the text without a character at its end that more bytes would have to complete.
std::size_t complete_prefix(std::string_view text);

// Calls part(bytes, is_valid) for all of a text in order: for each of its longest valid parts, and
// for each that one U+FFFD stands for.
template <typename Part>
void for_each_utf8_part(std::string_view text, Part&& part) {
  while (!text.empty()) {
    const std::size_t valid = valid_prefix(text);
    const std::size_t size = valid > 0 ? valid : malformed_at(text).size;
    part(text.substr(0, size), valid > 0);
    text.remove_prefix(size);
  }
}

// The text with U+FFFD for what is malformed.
std::string repaired_utf8(std::string_view text);

// For valid UTF-8.

// The size of the character that starts with `lead`.
inline std::uint32_t character_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

// The character at `position`, which is not the end.
inline Utf8Character character_at(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[position + i]));
  };
  const auto tail = [&](std::size_t i) { return byte(i) & 0x3FU; };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1FU) << 6U | tail(1), 2};
  if (lead < 0xF0) return {(lead & 0x0FU) << 12U | tail(1) << 6U | tail(2), 3};
  return {(lead & 0x07U) << 18U | tail(1) << 12U | tail(2) << 6U | tail(3), 4};
}

// Whether a character starts at a byte.
inline bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80;
}

// The start of the character that ends at `position` > 0.
inline std::size_t previous_character(std::string_view text, std::size_t position) {
  do {
    --position;
  } while (!starts_character(text[position]));
  return position;
}

std::size_t count_characters(std::string_view text);

void append_character(char32_t code_point, std::string& text);

// Of code points.

// U+0000 to U+001F, and U+007F to U+009F.
bool is_control(char32_t code_point);

// Whether it may change how the text around it is shown: controls, ends of lines and paragraphs,
// and the marks that set the direction of what follows (Unicode's Bidi_Control).
bool is_unsafe_to_show(char32_t code_point);

}  // namespace polystate
