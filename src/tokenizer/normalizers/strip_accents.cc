#include <memory>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/map_characters.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"
#include "tokenizer/unicode/properties.h"

namespace polystate::tokenizer {
namespace {

class StripAccentsNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

}  // namespace

Status StripAccentsNormalizer::normalize(AlignedText& text) const {
  remove_characters(text, [](char32_t c) { return c >= 0x300 && is_mark(c); });
  return {};
}

std::unique_ptr<const Normalizer> strip_accents_normalizer() {
  return std::make_unique<StripAccentsNormalizer>();
}

}  // namespace polystate::tokenizer
