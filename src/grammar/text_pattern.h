#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/character_set.h"
#include "polystate/core/result.h"

namespace polystate::grammar {

// A regular expression over the characters of a text, as a tree.
struct TextPattern {
  enum class Kind : std::uint8_t {
    kCharacters,  // one of `characters`
    kSequence,    // all parts; the empty text where there is none
    kChoice,      // one of the parts
    kRepetition,  // the one part, from `least` to `most` times
    kStart,       // the text's start, `^`
    kEnd,         // the text's end, `$`
  };
  static constexpr std::int64_t kNoLimit = -1;

  static TextPattern of(CharacterSet characters);
  // One part alone is that part.
  static TextPattern sequence(std::vector<TextPattern> parts);
  static TextPattern choice(std::vector<TextPattern> parts);
  static TextPattern repetition(TextPattern part, std::int64_t least, std::int64_t most);

  Kind kind = Kind::kSequence;
  CharacterSet characters = {};
  std::vector<TextPattern> parts = {};
  std::int64_t least = 1;
  std::int64_t most = 1;  // kNoLimit: any number of times
};

// Reads an expression in ECMA-262's syntax; `\d`, `\w` and `\s` are those of ASCII. kUnsupported:
// it has what is not known, such as look-around and references to groups. kContract: it is none, or
// has over 4,096 bytes.
Result<TextPattern> parse_pattern(std::string_view expression);

// The whole texts in which a pattern is found somewhere, without `^` and `$`. kUnsupported: one of
// these stands elsewhere than at an end of the pattern or of its alternatives.
Result<TextPattern> texts_with(TextPattern pattern);

// What follows is about patterns without `^` and `$`, which whole texts match.

// How many characters a text has.
struct TextLengths {
  std::int64_t least = 0;
  std::int64_t most = TextPattern::kNoLimit;
};

// Has texts of some lengths alone match. False where the pattern's form does not allow it.
bool limit_lengths(TextPattern& pattern, const TextLengths& lengths);

// kContract: xgrammar would take long for the repetitions of a pattern.
Status check_repetitions(const TextPattern& pattern);
// The same of an expression that it is given as it is, and of which it says itself what is wrong.
Status check_expression(std::string_view expression);

// Whether the characters at their beginnings tell the texts of two patterns apart.
[[nodiscard]] bool begin_otherwise(const TextPattern& one, const TextPattern& other);

// Says which texts match. All its answers together may take so many steps, of a character each.
class TextMatcher {
 public:
  // kUnsupported: no steps are left.
  Result<bool> matches(const TextPattern& pattern, std::string_view text);

 private:
  std::int64_t steps_left_ = 10'000'000;
};

// How a text is written.
enum class TextForm : std::uint8_t {
  kJson,    // between the quotes of a JSON string: `"`, `\` and U+0000 to U+001F are escaped
  kPlain,   // as it is; control characters are those of white space alone
  kEither,  // in one of both ways: it has none of the characters that JSON escapes
};

// The expression over written texts that xgrammar is given of a pattern. Each character is written
// in one way, that of Python's json.dumps; where any character may be, in any way. kUnsupported: a
// text would have to have what this form has not. kContract: it is too long.
Result<std::string> expression_of(const TextPattern& pattern, TextForm form);

// How long an expression may be, as it is given and as xgrammar takes it.
inline constexpr std::size_t kMaxExpressionBytes = 4096;

}  // namespace polystate::grammar
