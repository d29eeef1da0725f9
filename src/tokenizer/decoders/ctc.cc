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

}  // namespace

std::unique_ptr<DecodeStage> CtcDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<CtcStage>(next, pad_token_, word_delimiter_, cleanup_);
}

std::unique_ptr<const Decoder> ctc_decoder(std::string pad_token, std::string word_delimiter,
                                           bool cleanup) {
  return std::make_unique<CtcDecoder>(std::move(pad_token), std::move(word_delimiter), cleanup);
}

}  // namespace polystate::tokenizer
