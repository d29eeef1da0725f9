#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Sets of characters, as they are written between PCRE2's brackets.
namespace polystate::tokenizer {

inline constexpr std::string_view kSpaceSet = R"(\t-\r\x{85}\p{Z})";
inline constexpr std::string_view kDigitSet = R"(\p{Nd})";
inline constexpr std::string_view kHexDigitSet = "0-9A-Fa-f";
inline constexpr std::string_view kWordSet = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
// What \w and \b take for words beyond that: Oniguruma's (outside of brackets), and Rust's.
inline constexpr std::string_view kLatin1Numbers = R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
inline constexpr std::string_view kJoiners = R"(\x{200C}\x{200D})";

// The set of a property's name, as in \p{name}; nothing where it has none.
std::optional<std::string> named_set(std::string_view name);
// What the property of a name leaves, where that is how it is written: of C and Cn.
std::optional<std::string> left_by(std::string_view name);

// "\x{2581}".
std::string hex_escape(char32_t code_point);

// The characters that equal one from `first` to `last` without regard to case, and that PCRE2 may
// not know for that; empty, or a set.
std::string newer_cases_of(char32_t first, char32_t last);

// A set with the other cases of its properties' characters; nothing where there are too many to
// list.
std::optional<std::string> with_other_cases(std::string_view set);

// A set of characters: `positive`, united with the complement of each of `negative`, and with what
// each of `expressions` matches, which is one character.
struct CharacterSet {
  std::string positive;
  std::vector<std::string> negative = {};
  std::vector<std::string> expressions = {};
};

// Whether every character is ASCII, as far as that is known without matching.
bool is_ascii(const CharacterSet& set);

// Adds the characters of another one.
void unite(CharacterSet& set, const CharacterSet& other);

// The characters that are in both.
CharacterSet intersection(const CharacterSet& a, const CharacterSet& b);
// Those of `a` that are not in `b`.
CharacterSet difference(const CharacterSet& a, const CharacterSet& b);

// "[set]", "[^set]", with the characters of its properties that PCRE2 may not know. The set is not
// empty.
std::string bracketed(std::string_view set, bool complement);

// An expression that matches one character of the set, or of its complement.
std::string to_expression(const CharacterSet& set, bool complement);

}  // namespace polystate::tokenizer
