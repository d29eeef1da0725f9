#include "tokenizer/unicode/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/utf8.h"

namespace polystate::tokenizer {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Tables {
  std::array<AlphabetCharacter, 256> characters{};
  std::array<std::int16_t, 0x180> bytes{};  // of a character; -1: none
};

constexpr Tables make_tables() {
  Tables tables;
  for (std::int16_t& byte : tables.bytes) byte = -1;
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned code_point = stands_for_itself(byte) ? byte : next++;
    tables.bytes[code_point] = static_cast<std::int16_t>(byte);
    AlphabetCharacter& character = tables.characters[byte];
    if (code_point < 0x80) {
      character = {{static_cast<char>(code_point), 0}, 1};
    } else {
      character = {{static_cast<char>(0xC0U | code_point >> 6U),
                    static_cast<char>(0x80U | (code_point & 0x3FU))},
                   2};
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

const AlphabetCharacter& alphabet_character(unsigned char byte) { return kTables.characters[byte]; }

std::optional<unsigned char> alphabet_byte(char32_t code_point) {
  if (code_point >= kTables.bytes.size() || kTables.bytes[code_point] < 0) return std::nullopt;
  return static_cast<unsigned char>(kTables.bytes[code_point]);
}

bool append_alphabet_bytes(std::string_view token, std::string& bytes) {
  const std::size_t before = bytes.size();
  std::size_t size = before;
  bytes.resize(before + token.size());
  for (std::size_t i = 0; i < token.size();) {
    const Utf8Character character = character_at(token, i);
    const auto byte = alphabet_byte(character.code_point);
    if (!byte) {
      bytes.resize(before);
      return false;
    }
    bytes[size++] = static_cast<char>(*byte);
    i += character.size;
  }
  bytes.resize(size);
  return true;
}

}  // namespace polystate::tokenizer
