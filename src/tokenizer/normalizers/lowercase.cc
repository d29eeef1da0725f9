#include <cstddef>
#include <memory>
#include <string_view>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {
namespace {

class LowercaseNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

}  // namespace

void lowercase(AlignedText& text) {
  const std::size_t ascii = ascii_prefix(text.text);
  for (std::size_t i = 0; i < ascii; ++i) {
    char& c = text.text[i];
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  if (ascii == text.text.size()) return;
  const std::string_view source = text.text;
  rewrite_text(text, [&](TextEdit& edit) {
    std::size_t kept = 0;
    for (std::size_t i = ascii; i < source.size();) {
      const Utf8Character character = character_at(source, i);
      const LowerCase lower = lower_case(character.code_point);
      if (lower.count > 1 || lower.code_points[0] != character.code_point) {
        edit.keep(kept, i);
        for (std::size_t part = 0; part < lower.count; ++part) edit.put(lower.code_points[part], i);
        kept = i + character.size;
      }
      i += character.size;
    }
    edit.keep(kept, source.size());
  });
}

Status LowercaseNormalizer::normalize(AlignedText& text) const {
  lowercase(text);
  return {};
}

std::unique_ptr<const Normalizer> lowercase_normalizer() {
  return std::make_unique<LowercaseNormalizer>();
}

}  // namespace polystate::tokenizer
