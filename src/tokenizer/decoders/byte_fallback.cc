#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/models/model.h"

namespace polystate::tokenizer {
namespace {

class ByteFallbackStage : public TokenStage {
 public:
  using TokenStage::TokenStage;

 protected:
  void token(std::string& text) override {
    if (const auto byte = byte_of_token(text)) {
      bytes_ += static_cast<char>(*byte);
      return;
    }
    give_bytes();
    give_token(text);
  }
  void end() override { give_bytes(); }

 private:
  void give_bytes() {
    if (bytes_.empty()) return;
    if (valid_prefix(bytes_) == bytes_.size()) {
      give_token(bytes_);
    } else {
      for (std::size_t i = 0; i < bytes_.size(); ++i) give_token(kReplacementCharacter);
    }
    bytes_.clear();
  }

  std::string bytes_;  // of the run of byte tokens so far
};

class ByteFallbackDecoder : public Decoder {
 public:
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
  [[nodiscard]] bool to_bytes(TokenBytes& token) const override {
    if (const auto byte = byte_of_token(token.bytes)) {
      token.bytes.assign(1, static_cast<char>(*byte));
    }
    return true;
  }
};

}  // namespace

std::unique_ptr<DecodeStage> ByteFallbackDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<ByteFallbackStage>(&next);
}

std::unique_ptr<const Decoder> byte_fallback_decoder() {
  return std::make_unique<ByteFallbackDecoder>();
}

}  // namespace polystate::tokenizer
