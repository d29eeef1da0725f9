#pragma once

#include <memory>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"

namespace polystate::tokenizer {

// Turns characters of the byte alphabet back into bytes, of all tokens together. A token with other
// characters stands for its own bytes. What is not UTF-8 becomes U+FFFD.
class ByteLevelDecoder : public Decoder {
 public:
  // `raw`: the tokens are given as bytes already.
  explicit ByteLevelDecoder(bool raw) : raw_(raw) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  bool raw_;
};

}  // namespace polystate::tokenizer
