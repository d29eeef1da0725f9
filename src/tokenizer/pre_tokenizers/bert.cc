#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {
namespace {

class BertPreTokenizer : public PreTokenizer {
 public:
  Status pre_tokenize(PreTokenizedText& text) const override;
};

}  // namespace

Status BertPreTokenizer::pre_tokenize(PreTokenizedText& text) const {
  const std::string_view source = text.text();
  text.split([&](const Piece& piece, std::vector<Piece>& out) {
    std::uint32_t begin = piece.begin;
    const auto close = [&](std::uint32_t end) {
      if (begin < end) out.push_back({begin, end, {}});
    };
    for (std::uint32_t i = piece.begin; i < piece.end;) {
      const Utf8Character character = character_at(source, i);
      const std::uint32_t end = i + character.size;
      if (is_white_space(character.code_point)) {
        close(i);
        begin = end;
      } else if (character.code_point < 0x80 ? is_ascii_punctuation(character.code_point)
                                             : is_punctuation(character.code_point)) {
        close(i);
        out.push_back({i, end, {}});
        begin = end;
      }
      i = end;
    }
    close(piece.end);
  });
  return {};
}

std::unique_ptr<const PreTokenizer> bert_pre_tokenizer() {
  return std::make_unique<BertPreTokenizer>();
}

}  // namespace polystate::tokenizer
