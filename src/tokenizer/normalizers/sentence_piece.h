#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/normalizers/charsmap.h"
#include "tokenizer/normalizers/normalizer.h"

namespace polystate::tokenizer {

// U+2581, which SentencePiece writes spaces as.
inline constexpr std::string_view kSpaceMarker = "\xE2\x96\x81";

struct SentencePieceNormalizerOptions {
  bool add_dummy_prefix = true;             // a space before the text
  bool remove_extra_whitespaces = true;     // one space where there are several, none at the ends
  bool escape_whitespaces = true;           // spaces become kSpaceMarker
  bool treat_whitespace_as_suffix = false;  // the dummy prefix comes last
};

// What a SentencePiece model does to a text (its NormalizerSpec).
class SentencePieceNormalizer : public Normalizer {
 public:
  // `user_symbols` are left as they are.
  SentencePieceNormalizer(std::optional<Charsmap> map, SentencePieceNormalizerOptions options,
                          const std::vector<std::string_view>& user_symbols);
  Status normalize(AlignedText& text) const override;

 private:
  class Writer;
  struct Step {
    std::string_view text;  // what comes out
    std::size_t size;       // the bytes that it is for
  };
  [[nodiscard]] Step step(std::string_view rest) const;
  // Whether this ASCII character stays as it is where another one follows, or nothing.
  [[nodiscard]] bool keeps(char c) const {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x80 && kept_[byte];
  }

  std::optional<Charsmap> map_;
  SentencePieceNormalizerOptions options_;
  Trie user_symbols_;
  bool has_user_symbols_;
  std::array<bool, 128> kept_{};
};

}  // namespace polystate::tokenizer
