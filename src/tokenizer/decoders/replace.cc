#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/regex/pattern.h"

namespace polystate::tokenizer {
namespace {

class ReplaceStage : public TokenStage {
 public:
  ReplaceStage(DecodeStage& next, Status& status, const Pattern& pattern,
               const std::string& content)
      : TokenStage(&next), status_(status), pattern_(pattern), content_(content) {}

 protected:
  void token(std::string& text) override {
    matches_.clear();
    if (const Status found = pattern_.find(text, matches_); !found) {
      status_ = found;
      return;
    }
    std::size_t kept = 0;
    for (const TextRange& match : matches_) {
      next().fragment(std::string_view(text).substr(kept, match.begin - kept));
      next().fragment(content_);
      kept = match.end;
    }
    give_token(std::string_view(text).substr(kept));
  }

 private:
  Status& status_;
  const Pattern& pattern_;
  const std::string& content_;
  std::vector<TextRange> matches_;
};

class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
  [[nodiscard]] bool to_bytes(TokenBytes& token) const override;

 private:
  Pattern pattern_;
  std::string content_;
};

}  // namespace

std::unique_ptr<DecodeStage> ReplaceDecoder::stage(DecodeStage& next, Status& status) const {
  return std::make_unique<ReplaceStage>(next, status, pattern_, content_);
}

// A match may reach over tokens that are one text already.
bool ReplaceDecoder::to_bytes(TokenBytes& token) const {
  if (token.is_joined) return false;
  std::vector<TextRange> matches;
  if (token.bytes.empty() || valid_prefix(token.bytes) < token.bytes.size()) return true;
  if (!pattern_.find(token.bytes, matches)) return false;
  for (auto match = matches.rbegin(); match != matches.rend(); ++match)
    token.bytes.replace(match->begin, match->end - match->begin, content_);
  return true;
}

std::unique_ptr<const Decoder> replace_decoder(Pattern pattern, std::string content) {
  return std::make_unique<ReplaceDecoder>(std::move(pattern), std::move(content));
}

}  // namespace polystate::tokenizer
