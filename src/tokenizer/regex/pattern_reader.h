#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "tokenizer/regex/character_set.h"
#include "tokenizer/regex/regex.h"

namespace polystate::tokenizer {

// Reads a regular expression from left to right: what stands at its position, and the escapes that
// mean the same inside and outside of brackets. The first error counts; reading then goes on, and
// what it gives is of no use.
class PatternReader {
 public:
  // `pattern` is valid UTF-8 and outlives the reader.
  PatternReader(std::string_view pattern, RegexSyntax syntax)
      : pattern_(pattern), syntax_(syntax) {}

  [[nodiscard]] RegexSyntax syntax() const { return syntax_; }
  [[nodiscard]] bool oniguruma() const { return syntax_ == RegexSyntax::kOniguruma; }
  [[nodiscard]] bool failed() const { return !status_; }
  // Only where something failed.
  [[nodiscard]] const Error& error() const { return status_.error(); }
  void malformed(const std::string& why);
  void unsupported(std::string_view what);

  // In bytes.
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] bool at_end() const { return position_ >= pattern_.size(); }
  [[nodiscard]] std::string_view rest() const { return pattern_.substr(position_); }
  [[nodiscard]] bool at(std::string_view text) const { return rest().starts_with(text); }
  // What was read since `start`.
  [[nodiscard]] std::string_view since(std::size_t start) const {
    return pattern_.substr(start, position_ - start);
  }

  // Reads `text`, if it is next.
  bool take(std::string_view text);
  // Reads so many bytes, which must be there.
  std::string_view take(std::size_t size);
  // Reads up to and with `end`, and returns what is before it; nothing where there is no end.
  std::optional<std::string_view> take_until(std::string_view end);
  // Reads a character, which must be there.
  char32_t take_character();

  // At a backslash that something follows. They read nothing where they return nothing, unless they
  // failed.

  // The character that an escape stands for.
  std::optional<char32_t> escaped_character();
  // The set of \s, \d, \w, \h, \p{...} or a complement, `bare` or in a class.
  std::optional<CharacterSet> escaped_set(bool bare, bool ignores_case);
  // Adds to a set of properties, which an escape or a class names, what it has without regard to
  // case. Fails where that cannot be told. `complement`: whether its complement was asked for.
  void fold(std::string& set, bool complement);

  // The set of \w, `bare` or in a class.
  [[nodiscard]] std::string word_set(bool bare) const;

 private:
  void fail(ErrorCode code, const std::string& what);
  std::optional<char32_t> hexadecimal(std::size_t most);
  std::optional<CharacterSet> property(bool folds);
  std::optional<std::string_view> property_name();

  std::string_view pattern_;
  RegexSyntax syntax_;
  std::size_t position_ = 0;
  Status status_;
};

}  // namespace polystate::tokenizer
