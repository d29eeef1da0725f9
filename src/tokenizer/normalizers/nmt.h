#pragma once

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

// Removes control characters and turns some kinds of space into a space, as SentencePiece's "nmt"
// rules do.
class NmtNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

}  // namespace polystate::tokenizer
