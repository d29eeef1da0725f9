#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/decoders/token_text.h"

namespace polystate::tokenizer {
namespace {

// Keeps a token back until it knows whether that was the last one.
class BpeStage : public TokenStage {
 public:
  BpeStage(DecodeStage& next, const std::string& suffix) : TokenStage(&next), suffix_(suffix) {}

 protected:
  void token(std::string& text) override {
    give_previous(" ");
    previous_ = text;
  }
  void end() override { give_previous(""); }

 private:
  void give_previous(std::string_view replacement) {
    if (!previous_) return;
    replace_all(*previous_, suffix_, replacement);
    give_token(*previous_);
    previous_.reset();
  }

  const std::string& suffix_;
  std::optional<std::string> previous_;
};

class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
  [[nodiscard]] bool to_bytes(TokenBytes& token) const override {
    replace_all(token.bytes, suffix_, " ");
    return true;
  }

 private:
  std::string suffix_;
};

}  // namespace

std::unique_ptr<DecodeStage> BpeDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<BpeStage>(next, suffix_);
}

std::unique_ptr<const Decoder> bpe_decoder(std::string suffix) {
  return std::make_unique<BpeDecoder>(std::move(suffix));
}

}  // namespace polystate::tokenizer
