#pragma once

#include <memory>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"

namespace polystate::tokenizer {

// Puts spaces between tokens: what happens where a file names no decoder.
class JoinDecoder : public Decoder {
 public:
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
};

// Makes one token of all.
class FuseDecoder : public Decoder {
 public:
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
};

}  // namespace polystate::tokenizer
