#pragma once

#include <span>
#include <string_view>

namespace polystate::tokenizer {

// Characters of a property that are newer than Unicode 14, which the oldest PCRE2 has that we use:
// Oniguruma and Rust's regex know them.
struct NewerCharacters {
  std::string_view property;    // its name in lower case, without spaces, hyphens and underscores
  bool is_new;                  // PCRE2 may not know the property at all
  std::string_view characters;  // as they are written between PCRE2's brackets
};

// Of each property that has some. "not c" and "not cn" are the complements of C and Cn.
std::span<const NewerCharacters> newer_characters();

}  // namespace polystate::tokenizer
