#include <algorithm>
#include <cstdint>
#include <memory>
#include <string_view>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"
#include "tokenizer/unicode/byte_alphabet.h"

namespace polystate::tokenizer {
namespace {

class SpacePrefix : public PreTokenizer {
 public:
  Status pre_tokenize(PreTokenizedText& text) const override;
};

class ByteAlphabet : public PreTokenizer {
 public:
  Status pre_tokenize(PreTokenizedText& text) const override;
  [[nodiscard]] bool writes_byte_alphabet() const override { return true; }
};

}  // namespace

Status SpacePrefix::pre_tokenize(PreTokenizedText& text) const {
  const auto needs_prefix = [&](const Piece& piece) {
    return !piece.token && text.text()[piece.begin] != ' ';
  };
  if (std::none_of(text.pieces().begin(), text.pieces().end(), needs_prefix)) return {};
  text.rewrite([&](const Piece& piece, TextEdit& edit) {
    if (needs_prefix(piece)) edit.put(" ", piece.begin);
    edit.keep(piece.begin, piece.end);
  });
  return {};
}

Status ByteAlphabet::pre_tokenize(PreTokenizedText& text) const {
  const std::string_view source = text.text();
  text.rewrite([&](const Piece& piece, TextEdit& edit) {
    for (std::uint32_t i = piece.begin; i < piece.end; ++i)
      edit.put(alphabet_character(static_cast<unsigned char>(source[i])).view(), i);
  });
  return {};
}

std::unique_ptr<const PreTokenizer> byte_alphabet() { return std::make_unique<ByteAlphabet>(); }

std::unique_ptr<const PreTokenizer> space_prefix() { return std::make_unique<SpacePrefix>(); }

}  // namespace polystate::tokenizer
