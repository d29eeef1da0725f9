#pragma once

#include <memory>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"

namespace polystate::tokenizer {

// Leaves out repeated tokens and the padding token of connectionist temporal classification.
class CtcDecoder : public Decoder {
 public:
  CtcDecoder(std::string pad_token, std::string word_delimiter, bool cleanup)
      : pad_token_(std::move(pad_token)),
        word_delimiter_(std::move(word_delimiter)),
        cleanup_(cleanup) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string pad_token_;
  std::string word_delimiter_;
  bool cleanup_;
};

}  // namespace polystate::tokenizer
