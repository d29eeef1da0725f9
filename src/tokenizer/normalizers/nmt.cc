#include <memory>
#include <optional>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/normalizers/map_characters.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/normalizers/normalizers.h"

namespace polystate::tokenizer {
namespace {

// What SentencePiece's normalization rule "nmt" does beyond NFKC.
std::optional<char32_t> nmt_mapped(char32_t c) {
  if ((c >= 0x01 && c <= 0x08) || c == 0x0B || (c >= 0x0E && c <= 0x1F) || c == 0x7F || c == 0x8F ||
      c == 0x9F) {
    return std::nullopt;
  }
  const bool space = c == 0x09 || c == 0x0A || c == 0x0C || c == 0x0D || c == 0x1680 ||
                     (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                     c == 0xFEFF || c == 0xFFFD;
  return space ? ' ' : c;
}

class NmtNormalizer : public Normalizer {
 public:
  Status normalize(AlignedText& text) const override;
};

}  // namespace

Status NmtNormalizer::normalize(AlignedText& text) const {
  map_characters(text, nmt_mapped);
  return {};
}

std::unique_ptr<const Normalizer> nmt_normalizer() { return std::make_unique<NmtNormalizer>(); }

}  // namespace polystate::tokenizer
