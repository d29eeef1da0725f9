#pragma once

#include <memory>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/regex/pattern.h"

namespace polystate::tokenizer {

// Replaces every match in each token.
class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  Pattern pattern_;
  std::string content_;
};

}  // namespace polystate::tokenizer
