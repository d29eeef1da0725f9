#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/regex/regex.h"

namespace polystate::tokenizer {

class Deadline;

// A string or a regular expression to look for.
class Pattern {
 public:
  explicit Pattern(const Regex& regex) : regex_(std::make_unique<const Regex>(regex)) {}
  // `text` is not empty.
  explicit Pattern(std::string text) : text_(std::move(text)) {}

  // Appends the matches in `text`, from left to right. Deadline and errors as Regex::find.
  Status find(std::string_view text, std::vector<TextRange>& matches, Deadline& deadline) const;
  Status find(std::string_view text, std::vector<TextRange>& matches) const;

 private:
  std::unique_ptr<const Regex> regex_;  // null: `text_`
  std::string text_;
};

}  // namespace polystate::tokenizer
