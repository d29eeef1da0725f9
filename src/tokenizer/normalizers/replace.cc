#include "tokenizer/normalizers/replace.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

Status ReplaceNormalizer::normalize(AlignedText& text) const {
  std::vector<TextRange> matches;
  const std::string_view source = text.text;
  if (const Status found = pattern_.find(source, matches); !found) return found;
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

}  // namespace polystate::tokenizer
