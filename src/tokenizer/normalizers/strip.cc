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

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  Status normalize(AlignedText& text) const override;

 private:
  bool left_;
  bool right_;
};

}  // namespace

Status StripNormalizer::normalize(AlignedText& text) const {
  const std::string_view source = text.text;
  std::size_t begin = 0;
  std::size_t end = source.size();
  while (left_ && begin < end && is_white_space(character_at(source, begin).code_point))
    begin += character_size(source[begin]);
  while (right_ && end > begin) {
    const std::size_t last = previous_character(source, end);
    if (!is_white_space(character_at(source, last).code_point)) break;
    end = last;
  }
  if (begin == 0 && end == source.size()) return {};
  rewrite_text(text, [&](TextEdit& edit) { edit.keep(begin, end); });
  return {};
}

std::unique_ptr<const Normalizer> strip_normalizer(bool left, bool right) {
  return std::make_unique<StripNormalizer>(left, right);
}

}  // namespace polystate::tokenizer
