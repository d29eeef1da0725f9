#pragma once

#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

// Puts a string before a text that is not empty.
class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  Status normalize(AlignedText& text) const override;

 private:
  std::string prefix_;
};

}  // namespace polystate::tokenizer
