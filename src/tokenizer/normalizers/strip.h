#pragma once

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

// Removes white space from the ends.
class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  Status normalize(AlignedText& text) const override;

 private:
  bool left_;
  bool right_;
};

}  // namespace polystate::tokenizer
