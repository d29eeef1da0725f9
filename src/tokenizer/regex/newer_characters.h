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

// Two characters that are equal without regard to case, and were not in Unicode 14.
struct NewerCase {
  char32_t character;
  char32_t other;
};

// Characters that equal one of a property without regard to case, and do not have it themselves:
// Oniguruma (in brackets) and Rust's regex take them for that property then, PCRE2 does not.
struct OtherCases {
  std::string_view property;    // as in NewerCharacters
  std::string_view characters;  // likewise; empty: too many to list
};

// Of each property that has some. "not c" and "not cn" are the complements of C and Cn.
std::span<const NewerCharacters> newer_characters();
std::span<const OtherCases> other_cases();
// In the order of their characters; each pair in both directions.
std::span<const NewerCase> newer_cases();

}  // namespace polystate::tokenizer
