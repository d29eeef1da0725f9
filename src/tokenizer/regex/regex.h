#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

class Deadline;

// Whose syntax a regular expression is written in.
enum class RegexSyntax : std::uint8_t {
  kOniguruma,   // the `tokenizers` library
  kFancyRegex,  // the `tiktoken` library
  kPython,      // Python's `regex` package, where a dot matches a newline, too
};

// Where an expression matches, and what its named groups matched (kPython).
struct RegexMatch {
  TextRange range;
  std::vector<std::pair<std::string, TextRange>> groups = {};  // those that took part
  // Whether it is the beginning of a match, which more text would have to complete.
  bool is_partial = false;
};

// A compiled regular expression. It is run by PCRE2 with limits on time and memory, so that no text
// can make it hang. Immutable, and shared by threads.
class Regex {
 public:
  // kUnsupported when the expression uses something that PCRE2 has no equal for; kArtifact when it
  // is not well-formed.
  static Result<Regex> compile(std::string_view pattern, RegexSyntax syntax);

  // Appends the matches in `text` (valid UTF-8), from left to right. An empty match right after
  // another match is not counted. kContract when a limit is exceeded. `deadline` limits the time;
  // the parts of a text share one.
  Status find(std::string_view text, std::vector<TextRange>& matches, Deadline& deadline) const;
  // The same, of a text of its own.
  Status find(std::string_view text, std::vector<TextRange>& matches) const;

  // The first match at `start` or after it, of an expression of kPython. `or_partial`: where there
  // is none, the first beginning of one that the text's end cuts. Errors as find.
  [[nodiscard]] Result<std::optional<RegexMatch>> search(std::string_view text, std::size_t start,
                                                         bool or_partial, Deadline& deadline) const;
  // The names of its groups (kPython).
  [[nodiscard]] const std::vector<std::string>& group_names() const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code);
  std::shared_ptr<const Code> code_;
};

// The expression in PCRE2's syntax, for PCRE2_UTF | PCRE2_UCP. Errors as Regex::compile.
Result<std::string> to_pcre2(std::string_view pattern, RegexSyntax syntax);

}  // namespace polystate::tokenizer
