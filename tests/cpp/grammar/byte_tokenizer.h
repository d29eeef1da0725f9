#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "polystate/core/token.h"

namespace polystate {

// Some tokens of several bytes.
inline constexpr std::array<std::string_view, 6> kByteWords = {"the",  "null",     "12",
                                                               "\\\"", "\xC3\xA9", "a "};
inline constexpr TokenId kEndOfText = 0;
inline constexpr std::size_t kByteVocabulary = 1 + 256 + kByteWords.size();

// The token of a byte.
inline TokenId token_of(char byte) { return 1 + static_cast<unsigned char>(byte); }

// The file of a tokenizer with the end of a text, a token for each byte, and those words.
std::string byte_tokenizer_json();

}  // namespace polystate
