#include "response/anchor.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/regex/deadline.h"
#include "tokenizer/regex/regex.h"

namespace polystate::response {

Anchor::Anchor(std::vector<std::string> literals) : literals_(std::move(literals)) {
  std::ranges::stable_sort(literals_, std::greater(), &std::string::size);
  for (const std::string& longer : literals_) {
    for (const std::string& shorter : literals_)
      literals_may_grow_ |= longer != shorter && longer.starts_with(shorter);
  }
}

const std::vector<std::string>& Anchor::group_names() const {
  static const std::vector<std::string> kNone;
  return regex_ ? regex_->group_names() : kNone;
}

Result<std::optional<AnchorMatch>> Anchor::search(std::string_view text, std::size_t start,
                                                  bool or_partial) const {
  if (!regex_) {
    std::optional<AnchorMatch> found = find_literal(text, start);
    if (!found && or_partial) found = find_beginning(text, start);
    return found;
  }
  tokenizer::Deadline deadline(text.size());
  const Result<std::optional<tokenizer::RegexMatch>> found =
      regex_->search(text, start, or_partial, deadline);
  if (!found) return found.error();
  if (!*found) return std::optional<AnchorMatch>();
  const tokenizer::RegexMatch& match = **found;
  AnchorMatch result{match.range.begin, match.range.end, match.is_partial};
  for (const auto& [name, range] : match.groups)
    result.captures.emplace_back(name, text.substr(range.begin, range.end - range.begin));
  return std::optional(std::move(result));
}

std::optional<AnchorMatch> Anchor::find_literal(std::string_view text, std::size_t start) const {
  std::optional<AnchorMatch> first;
  for (const std::string& literal : literals_) {
    const std::size_t found = text.find(literal, start);
    if (found != std::string_view::npos && (!first || found < first->begin))
      first = AnchorMatch{found, found + literal.size()};
  }
  return first;
}

std::optional<AnchorMatch> Anchor::find_beginning(std::string_view text, std::size_t start) const {
  const std::size_t longest = literals_.front().size();
  std::size_t begin = text.size() - std::min(text.size() - start, longest - 1);
  for (; begin < text.size(); ++begin) {
    const std::string_view rest = text.substr(begin);
    for (const std::string& literal : literals_) {
      if (literal.starts_with(rest)) return AnchorMatch{begin, text.size(), true};
    }
  }
  return std::nullopt;
}

}  // namespace polystate::response
