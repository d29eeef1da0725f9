#include "tokenizer/normalizers/normalizer.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"

namespace polystate::tokenizer {

Error grew_too_much(std::size_t bytes) {
  return {ErrorCode::kContract, "a text grew to " + std::to_string(bytes) +
                                    " bytes while it was normalized; the limit is " +
                                    std::to_string(kMaxNormalizedBytes)};
}

NormalizerSequence::NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> normalizers)
    : normalizers_(std::move(normalizers)) {}

Status NormalizerSequence::normalize(AlignedText& text) const {
  for (const auto& normalizer : normalizers_) {
    if (const Status done = normalizer->normalize(text); !done) return done;
    if (text.text.size() > kMaxNormalizedBytes) return grew_too_much(text.text.size());
  }
  return {};
}

}  // namespace polystate::tokenizer
