#include <memory>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/decoders/token_text.h"

namespace polystate::tokenizer {
namespace {

class WordPieceStage : public TokenStage {
 public:
  WordPieceStage(DecodeStage& next, const std::string& prefix, bool cleanup)
      : TokenStage(&next), prefix_(prefix), cleanup_(cleanup) {}

 protected:
  void token(std::string& text) override {
    if (!first_) {
      if (text.starts_with(prefix_)) {
        text.erase(0, prefix_.size());
      } else {
        text.insert(0, 1, ' ');
      }
    }
    first_ = false;
    if (cleanup_) clean_up(text);
    give_token(text);
  }
  void end() override { first_ = true; }

 private:
  const std::string& prefix_;
  bool cleanup_;
  bool first_ = true;
};

class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleanup)
      : prefix_(std::move(prefix)), cleanup_(cleanup) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;

 private:
  std::string prefix_;
  bool cleanup_;
};

}  // namespace

std::unique_ptr<DecodeStage> WordPieceDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<WordPieceStage>(next, prefix_, cleanup_);
}

std::unique_ptr<const Decoder> word_piece_decoder(std::string prefix, bool cleanup) {
  return std::make_unique<WordPieceDecoder>(std::move(prefix), cleanup);
}

}  // namespace polystate::tokenizer
