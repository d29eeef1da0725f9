#pragma once

#include <initializer_list>
#include <memory>

#include "polystate/core/token.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {

// The token of a character of ASCII that is printed.
constexpr TokenId token_of(char c) { return static_cast<TokenId>(c - 31); }

inline constexpr TokenId kFirstSpecial = 98;

// A tokenizer in which a character is a token: line feeds, those of ASCII that are printed, and two
// that markers of calls have. The special tokens are numbered from kFirstSpecial on.
std::shared_ptr<const Tokenizer> character_tokenizer(std::initializer_list<const char*> special);

}  // namespace polystate
