#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/regex/regex.h"

namespace polystate::response {

struct AnchorMatch {
  std::size_t begin;
  std::size_t end;
  bool is_partial = false;  // the text's end cuts it
  std::vector<std::pair<std::string, std::string>> captures = {};
};

// What a part of an answer begins or ends with: one of some texts, or a regular expression.
class Anchor {
 public:
  // Not empty, nor is any of them.
  explicit Anchor(std::vector<std::string> literals);
  explicit Anchor(tokenizer::Regex regex) : regex_(std::move(regex)) {}

  // The first match at `start` or after it, of texts the longest. `or_partial`: where there is
  // none, the first beginning of one at the end of the text. Errors as Regex::find.
  [[nodiscard]] Result<std::optional<AnchorMatch>> search(std::string_view text, std::size_t start,
                                                          bool or_partial) const;
  // Whether a match that ends where the text does may be another one once there is more text.
  [[nodiscard]] bool may_grow(const AnchorMatch& match) const {
    return match.begin == match.end || regex_.has_value() || literals_may_grow_;
  }
  [[nodiscard]] const std::vector<std::string>& group_names() const;

 private:
  [[nodiscard]] std::optional<AnchorMatch> find_literal(std::string_view text,
                                                        std::size_t start) const;
  [[nodiscard]] std::optional<AnchorMatch> find_beginning(std::string_view text,
                                                          std::size_t start) const;

  std::vector<std::string> literals_;  // the longest first
  bool literals_may_grow_ = false;     // one of them begins with another
  std::optional<tokenizer::Regex> regex_;
};

}  // namespace polystate::response
