#include "tokenizer/normalizers/normalizer.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"

namespace polystate::tokenizer {

NormalizerSequence::NormalizerSequence(std::vector<std::unique_ptr<const Normalizer>> normalizers)
    : normalizers_(std::move(normalizers)) {}

Status NormalizerSequence::normalize(AlignedText& text) const {
  for (const auto& normalizer : normalizers_) {
    if (const Status done = normalizer->normalize(text); !done) return done;
    if (text.text.size() > kMaxNormalizedBytes) {
      return Error{ErrorCode::kContract, "a text grew to " + std::to_string(text.text.size()) +
                                             " bytes while it was normalized; the limit is " +
                                             std::to_string(kMaxNormalizedBytes)};
    }
  }
  return {};
}

}  // namespace polystate::tokenizer
