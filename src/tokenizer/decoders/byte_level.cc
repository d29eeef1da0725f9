#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/decoders.h"
#include "tokenizer/unicode/byte_alphabet.h"
#include "tokenizer/unicode/repair.h"

namespace polystate::tokenizer {
namespace {

class ByteLevelStage : public DecodeStage {
 public:
  ByteLevelStage(DecodeStage& next, bool raw) : DecodeStage(&next), raw_(raw) {}
  void fragment(std::string_view text) override {
    if (raw_) {
      bytes_ += text;
    } else {
      token_ += text;
    }
  }
  void end_token() override {
    if (!raw_) {
      if (!append_alphabet_bytes(token_, bytes_)) bytes_ += token_;
      token_.clear();
    }
    give_characters();
  }
  void finish() override {
    repaired_.clear();
    append_repaired(bytes_, repaired_, nullptr);
    bytes_.clear();
    give_token(repaired_);
    next().finish();
  }

 private:
  // Gives what later bytes cannot change: all but the start of a character at the end.
  void give_characters() {
    std::size_t given = 0;
    while (given < bytes_.size()) {
      const std::string_view rest = std::string_view(bytes_).substr(given);
      const std::size_t valid = valid_prefix(rest);
      next().fragment(rest.substr(0, valid));
      given += valid;
      if (valid == rest.size()) break;
      const MalformedUtf8 malformed = malformed_at(rest.substr(valid));
      if (malformed.incomplete) break;
      next().fragment(kReplacementCharacter);
      given += malformed.size;
    }
    bytes_.erase(0, given);
  }

  bool raw_;
  std::string token_;
  std::string bytes_;  // not given yet
  std::string repaired_;
};

class ByteLevelDecoder : public Decoder {
 public:
  explicit ByteLevelDecoder(bool raw) : raw_(raw) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
  [[nodiscard]] bool to_bytes(TokenBytes& token) const override {
    std::string bytes;
    if (!raw_ && append_alphabet_bytes(token.bytes, bytes)) token.bytes = std::move(bytes);
    token.is_joined = true;
    return true;
  }
  [[nodiscard]] bool takes_bytes() const override { return raw_; }

 private:
  bool raw_;
};

}  // namespace

std::unique_ptr<DecodeStage> ByteLevelDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<ByteLevelStage>(next, raw_);
}

std::unique_ptr<const Decoder> byte_level_decoder(bool raw) {
  return std::make_unique<ByteLevelDecoder>(raw);
}

}  // namespace polystate::tokenizer
