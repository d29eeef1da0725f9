#include "tokenizer/decoders/word_piece.h"

#include <memory>
#include <string>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
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

}  // namespace

std::unique_ptr<DecodeStage> WordPieceDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<WordPieceStage>(next, prefix_, cleanup_);
}

}  // namespace polystate::tokenizer
