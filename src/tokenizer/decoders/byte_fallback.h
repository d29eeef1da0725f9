#pragma once

#include <memory>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"

namespace polystate::tokenizer {

// Turns runs of tokens like "<0xE2>" into the text of these bytes; where that is not UTF-8, each
// into U+FFFD.
class ByteFallbackDecoder : public Decoder {
 public:
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
};

}  // namespace polystate::tokenizer
