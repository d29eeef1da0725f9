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

class UnicodeScripts : public PreTokenizer {
 public:
  Status pre_tokenize(PreTokenizedText& text) const override;
};

}  // namespace

Status UnicodeScripts::pre_tokenize(PreTokenizedText& text) const {
  const std::string_view source = text.text();
  text.split([&](const Piece& piece, std::vector<Piece>& out) {
    std::uint32_t begin = piece.end;
    std::uint8_t script = 0;  // of the run that starts at `begin`
    for (std::uint32_t i = piece.begin; i < piece.end;) {
      const Utf8Character character = character_at(source, i);
      const std::uint8_t next = script_of(character.code_point);
      if (next != 0 && next != script) {
        if (script != 0) out.push_back({begin, i, {}});
        begin = i;
        script = next;
      }
      i += character.size;
    }
    if (script != 0) out.push_back({begin, piece.end, {}});
  });
  return {};
}

std::unique_ptr<const PreTokenizer> unicode_scripts() { return std::make_unique<UnicodeScripts>(); }

}  // namespace polystate::tokenizer
