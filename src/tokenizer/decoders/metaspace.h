#pragma once

#include <memory>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"

namespace polystate::tokenizer {

// Turns the marker into a space, or into nothing in the first token if `strips_first`.
class MetaspaceDecoder : public Decoder {
 public:
  MetaspaceDecoder(std::string marker, bool strips_first)
      : marker_(std::move(marker)), strips_first_(strips_first) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string marker_;
  bool strips_first_;
};

}  // namespace polystate::tokenizer
