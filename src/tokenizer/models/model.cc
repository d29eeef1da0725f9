#include "tokenizer/models/model.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace polystate::tokenizer {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEF";

}  // namespace

std::string byte_token(unsigned char byte) {
  std::string token = "<0x00>";
  token[3] = kDigits[byte >> 4U];
  token[4] = kDigits[byte & 15U];
  return token;
}

std::optional<unsigned char> byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  unsigned value = 0;
  for (const char c : token.substr(3, 2)) {
    const std::size_t digit = kDigits.find(c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = 16 * value + static_cast<unsigned>(digit);
  }
  return static_cast<unsigned char>(value);
}

}  // namespace polystate::tokenizer
