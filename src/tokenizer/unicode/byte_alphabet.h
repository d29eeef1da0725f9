#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The printable characters that byte-level vocabularies write bytes with: printable Latin-1 bytes
// are the characters of the same number, the others are U+0100 and on, in order (GPT-2,
// encoder.py).
namespace polystate::tokenizer {

// The UTF-8 of each byte's character, one or two bytes long.
struct AlphabetCharacter {
  std::array<char, 2> utf8;
  std::uint8_t size;

  [[nodiscard]] std::string_view view() const { return {utf8.data(), size}; }
};
const AlphabetCharacter& alphabet_character(unsigned char byte);

// The byte that a character stands for, if any.
std::optional<unsigned char> alphabet_byte(char32_t code_point);

// Appends the bytes that a token stands for to `bytes`; false, and nothing appended, where it has a
// character that is not in the alphabet.
bool append_alphabet_bytes(std::string_view token, std::string& bytes);

}  // namespace polystate::tokenizer
