#pragma once

#include <memory>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"

namespace polystate::tokenizer {

// Takes the prefix off tokens that continue a word, puts a space before others; `cleanup` removes
// spaces before punctuation and English contractions.
class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string prefix_;
  bool cleanup_;
};

}  // namespace polystate::tokenizer
