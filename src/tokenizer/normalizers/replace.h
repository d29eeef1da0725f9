#pragma once

#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/regex/pattern.h"

namespace polystate::tokenizer {

// Replaces every match.
class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status normalize(AlignedText& text) const override;

 private:
  Pattern pattern_;
  std::string content_;
};

}  // namespace polystate::tokenizer
