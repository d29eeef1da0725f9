#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/text/encoding.h"

namespace polystate::text {

// U+FFFD, which stands for what cannot be decoded.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

struct Character {
  char32_t code_point;
  std::uint32_t size;  // bytes
};

// The size of the character that starts with `lead`, in valid UTF-8.
inline std::uint32_t character_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0x80) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

// The character at `position` of valid UTF-8, which is not its end.
inline Character character_at(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[position + i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xE0) return {(lead & 0x1F) << 6 | (byte(1) & 0x3F), 2};
  if (lead < 0xF0) return {(lead & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F),
          4};
}

// Whether a character starts at a byte of valid UTF-8.
inline bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

// The start of the character that ends at `position` > 0 of valid UTF-8.
inline std::size_t previous_character(std::string_view text, std::size_t position) {
  do {
    --position;
  } while (!starts_character(text[position]));
  return position;
}

std::size_t count_characters(std::string_view text);

void append_character(char32_t code_point, std::string& text);

// The length of the longest prefix that is ASCII.
std::size_t ascii_prefix(std::string_view text);

// The length of the longest prefix that is valid UTF-8.
std::size_t valid_prefix(std::string_view text);

// What valid_prefix stopped at: how many bytes one U+FFFD stands for (Unicode, section 3.9,
// "substitution of maximal subparts"), and whether more bytes could still make it a character.
struct Malformed {
  std::uint32_t size;
  bool incomplete;
};
Malformed malformed_at(std::string_view text);

// Appends `text` to `out` with every malformed part replaced by U+FFFD. Where `sources` is given,
// the range of `text` that each byte appended comes from is added to it.
void append_repaired(std::string_view text, std::string& out, std::vector<ByteRange>* sources);

}  // namespace polystate::text
