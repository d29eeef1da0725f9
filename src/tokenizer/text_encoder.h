#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/added_vocabulary.h"
#include "tokenizer/plain_ranges.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/scratch.h"
#include "tokenizer/stages.h"

namespace polystate::tokenizer {

class Deadline;

// Encodes one text: finds added tokens, normalizes what lies between them, splits it into pieces,
// and gives each to the model. What the post-processor adds is not its concern.
class TextEncoder {
 public:
  // Bytes that a text may have.
  static constexpr std::size_t kMaxTextBytes = std::size_t{128} << 20U;

  TextEncoder(const Stages& stages, const AddedVocabulary& added, const EncodeOptions& options,
              Scratch& scratch);

  // Once; type_ids is left empty. Errors as Tokenizer::encode.
  Result<Encoding> encode(std::string_view text);

 private:
  void read(std::string_view text);
  [[nodiscard]] std::span<const TextRange> alignment_of(TextRange range) const;
  Status find(std::string_view text, std::span<const TextRange> alignment, bool normalized,
              std::vector<AddedVocabulary::Match>& matches) const;
  Status split_added();
  Status add_part(TextRange range, std::optional<TokenId> id, Deadline& deadline);
  Status add_normalized(TextRange range, std::optional<TokenId> id, Deadline& deadline);
  Status add_pieces(std::uint32_t begin, std::string_view text,
                    std::span<const TextRange> alignment);
  Status tokenize();
  Status tokenize_piece(const Piece& piece);
  void add_tokens(const Piece& piece);
  Status check_plain(const Piece& piece) const;

  const Stages& stages_;
  const AddedVocabulary& added_;
  const EncodeOptions& options_;
  Scratch& scratch_;
  PlainRanges plain_;
  bool tracks_;            // whether alignments are kept
  std::string_view text_;  // valid UTF-8
  Encoding encoding_;
};

}  // namespace polystate::tokenizer
