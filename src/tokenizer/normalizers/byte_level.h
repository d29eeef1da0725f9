#pragma once

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

// Writes every byte as its character of the byte alphabet.
class ByteLevelNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

}  // namespace polystate::tokenizer
