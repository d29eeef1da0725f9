#include "tokenizer/decoders/ctc.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/token_text.h"

namespace polystate::tokenizer {
namespace {

class CtcStage : public TokenStage {
 public:
  CtcStage(DecodeStage& next, const std::string& pad_token, const std::string& word_delimiter,
           bool cleanup)
      : TokenStage(&next),
        pad_token_(pad_token),
        word_delimiter_(word_delimiter),
        cleanup_(cleanup) {}

 protected:
  void token(std::string& text) override {
    if (text == previous_) return;
    previous_ = text;
    replace_all(text, pad_token_, "");
    if (cleanup_) {
      clean_up(text);
      replace_all(text, word_delimiter_, " ");
    }
    if (!text.empty()) give_token(text);
  }
  void end() override { previous_.reset(); }

 private:
  const std::string& pad_token_;
  const std::string& word_delimiter_;
  bool cleanup_;
  std::optional<std::string> previous_;
};

}  // namespace

std::unique_ptr<DecodeStage> CtcDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<CtcStage>(next, pad_token_, word_delimiter_, cleanup_);
}

}  // namespace polystate::tokenizer
