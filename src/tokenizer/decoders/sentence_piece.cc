#include "tokenizer/decoders/sentence_piece.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"
#include "tokenizer/decoders/token_text.h"
#include "tokenizer/normalizers/sentence_piece.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {
namespace {

class SentencePieceStage : public TokenStage {
 public:
  SentencePieceStage(DecodeStage& next, SentencePieceDecoder::Options options)
      : TokenStage(&next), options_(options) {}

 protected:
  void token(std::string& tagged_text) override {
    const auto kind = static_cast<SentencePieceKind>(tagged_text[0]);
    const std::string_view text = std::string_view(tagged_text).substr(1);
    if (kind == SentencePieceKind::kByte) {
      bytes_ += text;
      give_characters(false);
      return;
    }
    give_characters(true);
    at_start_ = at_start_ && !stripped_one_ && !gave_text_;
    stripped_one_ = false;
    switch (kind) {
      case SentencePieceKind::kPiece:
        give_piece(text);
        break;
      case SentencePieceKind::kLiteral:
        give(text);
        break;
      case SentencePieceKind::kSpecial:
        give(text);
        restart();
        break;
      default:
        break;
    }
  }
  void end() override {
    give_characters(true);
    restart();
  }

 private:
  void restart() {
    at_start_ = true;
    stripped_one_ = false;
    gave_text_ = false;
  }

  void give(std::string_view text) {
    if (text.empty()) return;
    gave_text_ = true;
    give_token(text);
  }

  void give_piece(std::string_view text) {
    if (at_start_ && (options_.strips_first_space || options_.strips_leading_space) &&
        text.starts_with(kSpaceMarker)) {
      text.remove_prefix(kSpaceMarker.size());
      stripped_one_ = !options_.strips_leading_space;
    }
    while (!text.empty()) {
      const std::size_t marker = std::min(text.find(kSpaceMarker), text.size());
      give(text.substr(0, marker));
      if (marker == text.size()) return;
      give(" ");
      text.remove_prefix(marker + kSpaceMarker.size());
    }
  }

  // Gives the characters that the bytes so far make up; `all`: no byte follows.
  void give_characters(bool all) {
    std::size_t given = 0;
    while (given < bytes_.size()) {
      const std::string_view rest = std::string_view(bytes_).substr(given);
      const std::size_t valid = valid_prefix(rest);
      give(rest.substr(0, valid));
      given += valid;
      if (valid == rest.size()) break;
      const MalformedUtf8 malformed = malformed_at(rest.substr(valid));
      if (malformed.incomplete && !all) break;
      for (std::uint32_t i = 0; i < malformed.size; ++i) give(kReplacementCharacter);
      given += malformed.size;
    }
    bytes_.erase(0, given);
  }

  SentencePieceDecoder::Options options_;
  bool at_start_ = true;       // a leading space is not to be given
  bool stripped_one_ = false;  // by the token before
  bool gave_text_ = false;
  std::string bytes_;  // not given yet
};

bool is_python_space(char32_t code_point) {
  return is_white_space(code_point) || (code_point >= 0x1C && code_point <= 0x1F);
}

class StrippingStage : public TokenStage {
 public:
  StrippingStage(DecodeStage& next, bool replaces_markers)
      : TokenStage(&next), replaces_markers_(replaces_markers) {}

 protected:
  void token(std::string& text) override {
    std::string& held = held_;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t size = character_size(text[i]);
      const std::string_view character = std::string_view(text).substr(i, size);
      i += size;
      const bool is_marker = replaces_markers_ && character == kSpaceMarker;
      held += is_marker ? " " : character;
      if (is_marker || is_python_space(character_at(character, 0).code_point)) {
        if (!started_) held.clear();
        continue;
      }
      started_ = true;
      give_token(held);
      held.clear();
    }
  }
  void end() override {
    held_.clear();
    started_ = false;
  }

 private:
  bool replaces_markers_;
  std::string held_;  // white space, which may be at the end
  bool started_ = false;
};

}  // namespace

std::string tagged(SentencePieceKind kind, std::string_view text) {
  return static_cast<char>(kind) + std::string(text);
}

std::unique_ptr<DecodeStage> SentencePieceDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<SentencePieceStage>(next, options_);
}

bool SentencePieceDecoder::to_bytes(TokenBytes& token) const {
  const auto kind = static_cast<SentencePieceKind>(token.bytes[0]);
  token.bytes.erase(0, 1);
  if (kind == SentencePieceKind::kSilent) token.bytes.clear();
  if (kind == SentencePieceKind::kPiece) replace_all(token.bytes, kSpaceMarker, " ");
  token.is_joined = true;
  return true;
}

bool StrippingDecoder::to_bytes(TokenBytes& token) const {
  if (replaces_markers_) replace_all(token.bytes, kSpaceMarker, " ");
  return true;
}

std::unique_ptr<DecodeStage> StrippingDecoder::stage(DecodeStage& next, Status&) const {
  return std::make_unique<StrippingStage>(next, replaces_markers_);
}

}  // namespace polystate::tokenizer
