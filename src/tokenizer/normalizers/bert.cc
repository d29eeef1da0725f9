#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/map_characters.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"
#include "tokenizer/unicode/normal_form.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {
namespace {

// The blocks of CJK ideographs, as BERT's tokenization.py lists them.
bool is_cjk_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

std::optional<char32_t> cleaned(char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return ' ';
  if (c == 0 || c == 0xFFFD || is_bert_control(c)) return std::nullopt;
  return is_white_space(c) ? ' ' : c;
}

void space_ideographs(AlignedText& text) {
  const std::string_view source = text.text;
  std::size_t position = ascii_prefix(source);
  while (position < source.size()) {
    const Utf8Character character = character_at(source, position);
    if (is_cjk_ideograph(character.code_point)) break;
    position += character.size;
  }
  if (position == source.size()) return;
  rewrite_text(text, [&](TextEdit& edit) {
    std::size_t kept = 0;
    while (position < source.size()) {
      const Utf8Character character = character_at(source, position);
      if (is_cjk_ideograph(character.code_point)) {
        edit.keep(kept, position);
        edit.put(" ", position);
        edit.keep(position, position + character.size);
        edit.put(" ", position);
        kept = position + character.size;
      }
      position += character.size;
    }
    edit.keep(kept, source.size());
  });
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(BertOptions options) : options_(options) {}
  Status normalize(AlignedText& text) const override;

 private:
  BertOptions options_;
};

}  // namespace

Status BertNormalizer::normalize(AlignedText& text) const {
  if (options_.clean_text) map_characters(text, cleaned);
  if (options_.handle_chinese_chars) space_ideographs(text);
  if (options_.strip_accents) {
    apply_unicode_form(UnicodeForm::kNfd, text);
    remove_characters(text, is_bert_mark);
  }
  if (options_.lowercase) lowercase(text);
  return {};
}

std::unique_ptr<const Normalizer> bert_normalizer(BertOptions options) {
  return std::make_unique<BertNormalizer>(options);
}

}  // namespace polystate::tokenizer
