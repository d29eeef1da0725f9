#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"
#include "tokenizer/regex/deadline.h"
#include "tokenizer/regex/pattern.h"

namespace polystate::tokenizer {
namespace {

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status normalize(AlignedText& text) const override;

 private:
  Pattern pattern_;
  std::string content_;
};

}  // namespace

Status ReplaceNormalizer::normalize(AlignedText& text) const {
  std::vector<TextRange> matches;
  const std::string_view source = text.text;
  Deadline of_whole(source.size());
  if (text.deadline != nullptr) text.deadline->extend(source.size());
  Deadline& deadline = text.deadline == nullptr ? of_whole : *text.deadline;
  if (const Status found = pattern_.find(source, matches, deadline); !found) return found;
  if (matches.empty()) return {};
  const std::size_t growth = matches.size() * content_.size();
  if (growth > kMaxNormalizedBytes) return grew_too_much(source.size() + growth);
  rewrite_text(text, [&](TextEdit& edit) {
    std::size_t kept = 0;
    for (const TextRange& match : matches) {
      edit.keep(kept, match.begin);
      if (match.end > 0) {
        edit.put(content_, match.end - 1);
      } else {
        edit.put_unaligned(content_, text.origin);
      }
      kept = match.end;
    }
    edit.keep(kept, source.size());
  });
  return {};
}

std::unique_ptr<const Normalizer> replace_normalizer(Pattern pattern, std::string content) {
  return std::make_unique<ReplaceNormalizer>(std::move(pattern), std::move(content));
}

}  // namespace polystate::tokenizer
