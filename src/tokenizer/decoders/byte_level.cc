#include "tokenizer/decoders/byte_level.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
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
    std::size_t whole = valid_prefix(bytes_);
    while (whole < bytes_.size()) {
      const MalformedUtf8 malformed = malformed_at(std::string_view(bytes_).substr(whole));
      if (malformed.incomplete) break;
      bytes_.replace(whole, malformed.size, kReplacementCharacter);
      whole += valid_prefix(std::string_view(bytes_).substr(whole));
    }
    next().fragment(std::string_view(bytes_).substr(0, whole));
    bytes_.erase(0, whole);
  }

  bool raw_;
  std::string token_;
  std::string bytes_;  // not given yet
  std::string repaired_;
};

}  // namespace

std::unique_ptr<DecodeStage> ByteLevelDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<ByteLevelStage>(next, raw_);
}

}  // namespace polystate::tokenizer
