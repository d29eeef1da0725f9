#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "polystate/core/result.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"

namespace polystate::tokenizer {

// Which pieces get a marker put before them.
enum class PrependScheme : std::uint8_t { kNever, kFirst, kAlways };

// Writes spaces as a marker, puts one before pieces that do not start with it, and splits before
// every marker (Metaspace).
class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string marker, PrependScheme scheme, bool split)
      : marker_(std::move(marker)), scheme_(scheme), split_(split) {}
  Status pre_tokenize(PreTokenizedText& text) const override;
  [[nodiscard]] bool needs_origin() const override { return scheme_ == PrependScheme::kFirst; }

 private:
  [[nodiscard]] bool prepends(const PreTokenizedText& text, const Piece& piece) const;

  std::string marker_;
  PrependScheme scheme_;
  bool split_;
};

}  // namespace polystate::tokenizer
