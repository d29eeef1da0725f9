#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"

namespace polystate::tokenizer {

// Removes up to `start` and `stop` of a character from the ends of each token.
class StripDecoder : public Decoder {
 public:
  static constexpr std::size_t kMaxCount = std::size_t{1} << 24U;

  // At most kMaxCount each.
  StripDecoder(std::string character, std::size_t start, std::size_t stop)
      : character_(std::move(character)), start_(start), stop_(stop) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string character_;
  std::size_t start_;
  std::size_t stop_;
};

}  // namespace polystate::tokenizer
