#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/decoders/token_text.h"

namespace polystate::tokenizer {
namespace {

class MetaspaceStage : public TokenStage {
 public:
  MetaspaceStage(DecodeStage& next, const std::string& marker, bool strips_first)
      : TokenStage(&next), marker_(marker), strips_first_(strips_first) {}

 protected:
  void token(std::string& text) override {
    replace_all(text, marker_, first_ && strips_first_ ? "" : " ");
    first_ = false;
    give_token(text);
  }
  void end() override { first_ = true; }

 private:
  const std::string& marker_;
  bool strips_first_;
  bool first_ = true;
};

class MetaspaceDecoder : public Decoder {
 public:
  MetaspaceDecoder(std::string marker, bool strips_first)
      : marker_(std::move(marker)), strips_first_(strips_first) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
  [[nodiscard]] bool to_bytes(TokenBytes& token) const override {
    replace_all(token.bytes, marker_, " ");
    return true;
  }

 private:
  std::string marker_;
  bool strips_first_;
};

}  // namespace

std::unique_ptr<DecodeStage> MetaspaceDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<MetaspaceStage>(next, marker_, strips_first_);
}

std::unique_ptr<const Decoder> metaspace_decoder(std::string marker, bool strips_first) {
  return std::make_unique<MetaspaceDecoder>(std::move(marker), strips_first);
}

}  // namespace polystate::tokenizer
