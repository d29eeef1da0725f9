#include "tokenizer/normalizers/prepend.h"

#include <cstddef>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"

namespace polystate::tokenizer {

Status PrependNormalizer::normalize(AlignedText& text) const {
  if (text.text.empty()) return {};
  const std::size_t size = text.text.size();
  rewrite_text(text, [&](TextEdit& edit) {
    edit.put(prefix_, 0);
    edit.keep(0, size);
  });
  return {};
}

}  // namespace polystate::tokenizer
