#include "tokenizer/regex/pattern.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/regex/deadline.h"

namespace polystate::tokenizer {

Status Pattern::find(std::string_view text, std::vector<TextRange>& matches) const {
  Deadline deadline(text.size());
  return find(text, matches, deadline);
}

Status Pattern::find(std::string_view text, std::vector<TextRange>& matches,
                     Deadline& deadline) const {
  if (regex_) return regex_->find(text, matches, deadline);
  for (std::size_t at = text.find(text_); at != std::string_view::npos;
       at = text.find(text_, at + text_.size())) {
    matches.push_back(
        {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + text_.size())});
  }
  return {};
}

}  // namespace polystate::tokenizer
