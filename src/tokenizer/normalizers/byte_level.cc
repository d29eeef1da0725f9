#include <cstddef>
#include <memory>
#include <string_view>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"
#include "tokenizer/unicode/byte_alphabet.h"

namespace polystate::tokenizer {
namespace {

class ByteLevelNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

}  // namespace

Status ByteLevelNormalizer::normalize(AlignedText& text) const {
  const std::string_view source = text.text;
  rewrite_text(text, [&](TextEdit& edit) {
    for (std::size_t i = 0; i < source.size(); ++i)
      edit.put(alphabet_character(static_cast<unsigned char>(source[i])).view(), i);
  });
  return {};
}

std::unique_ptr<const Normalizer> byte_level_normalizer() {
  return std::make_unique<ByteLevelNormalizer>();
}

}  // namespace polystate::tokenizer
