#pragma once

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

void lowercase(AlignedText& text);

class LowercaseNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

}  // namespace polystate::tokenizer
