#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/decoders/decoder.h"

namespace polystate::tokenizer {

// What SentencePieceDecoder is given for a token: its kind, in one byte, and its text.
enum class SentencePieceKind : char {
  kPiece = 'p',    // its space markers become spaces
  kLiteral = 'l',  // its text is kept as it is
  kSilent = 's',   // nothing
  kByte = 'b',     // one byte of a text
  kSpecial = 'x',  // its text is kept; what follows is decoded anew
};
std::string tagged(SentencePieceKind kind, std::string_view text);

// Decodes as SentencePiece does: markers become spaces, but none comes first; bytes become
// characters, and what is not UTF-8 U+FFFD, one for each byte.
class SentencePieceDecoder : public Decoder {
 public:
  struct Options {
    bool strips_first_space = true;    // one that starts the text
    bool strips_leading_space = true;  // all of them
  };
  explicit SentencePieceDecoder(Options options) : options_(options) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
  [[nodiscard]] bool to_bytes(TokenBytes& token) const override;

 private:
  Options options_;
};

// Removes white space, as Python's str.strip takes it, from the ends of all text; if
// `replaces_markers`, space markers that are left become spaces before.
class StrippingDecoder : public Decoder {
 public:
  explicit StrippingDecoder(bool replaces_markers) : replaces_markers_(replaces_markers) {}
  std::unique_ptr<DecodeStage> stage(DecodeStage& next, Status& status) const override;
  [[nodiscard]] bool to_bytes(TokenBytes& token) const override;

 private:
  bool replaces_markers_;
};

}  // namespace polystate::tokenizer
