#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/models/model.h"
#include "tokenizer/models/trie.h"
#include "tokenizer/normalizers/normalizer.h"
#include "tokenizer/plain_ranges.h"
#include "tokenizer/regex/regex.h"

namespace polystate::tokenizer {

// A token that is found in a text before the model sees it.
struct AddedToken {
  std::string content;
  bool single_word = false;  // only where no word character is next to it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // takes the white space after it
  bool normalized = false;   // is looked for in the normalized text, itself normalized
  bool special = false;      // is left out when decoding
  std::optional<TokenId> id = std::nullopt;  // none: the model's, or the next free one
};

// The added tokens of a tokenizer, their ids, and where they are in a text.
class AddedVocabulary {
 public:
  // A token that the model has keeps its id there; others get the next free ids. Tokens without
  // content are left out. Errors as Normalizer::normalize.
  static Result<AddedVocabulary> create(const std::vector<AddedToken>& tokens, const Model& model,
                                        const Normalizer* normalizer);

  struct Match {
    TextRange range;  // with the white space that it takes
    TokenId id;
  };
  // What `find` takes for text like any other.
  struct Skipped {
    bool special;              // all special tokens
    const PlainRanges& plain;  // tokens where a text is plain
    // The caller's bytes for each byte of the text; empty where there are no plain parts.
    std::span<const TextRange> alignment;
  };
  // Appends the tokens in `text`, the leftmost and of those the longest first; of the tokens that
  // are looked for in normalized texts, or of the others. Of tokens with one normalized text the
  // one with the smallest id is found, where `tokenizers` draws one of them each time it is opened.
  void find(std::string_view text, bool normalized, const Skipped& skipped,
            std::vector<Match>& matches) const;
  [[nodiscard]] bool looks_for(bool normalized) const { return !matcher(normalized).ids.empty(); }

  // Ascending.
  [[nodiscard]] std::vector<TokenId> ids() const;
  [[nodiscard]] std::optional<TokenId> token_to_id(std::string_view token) const;
  [[nodiscard]] const AddedToken* token(TokenId id) const;
  // The text of a token when it is decoded: what its normalization makes of it.
  [[nodiscard]] std::optional<std::string_view> decoded_text(TokenId id) const;
  // Whether decoding leaves the token out.
  [[nodiscard]] bool is_special(TokenId id) const;
  // One more than the largest id.
  [[nodiscard]] std::size_t id_limit() const {
    return entries_.empty() ? 0 : entries_.rbegin()->first + std::size_t{1};
  }

 private:
  struct Entry {
    AddedToken token;
    std::string decoded;  // normalized, where that is asked for
    bool special;
  };
  // Several may have one id: the last one's is the entry.
  struct Name {
    TokenId id;
    std::string text;  // what is looked for: the content, normalized where that is asked for
  };
  struct Matcher {
    Trie trie;
    std::vector<TokenId> ids;       // by the trie's values
    std::array<bool, 256> first{};  // the bytes that tokens start with
  };

  [[nodiscard]] const Matcher& matcher(bool normalized) const {
    return normalized ? normalized_ : plain_;
  }
  [[nodiscard]] Matcher build_matcher(bool normalized) const;
  static std::optional<Match> longest_at(const Matcher& matcher, std::string_view text,
                                         std::uint32_t begin);
  // How much of a token that is found must be text, by what is skipped.
  [[nodiscard]] PlainRanges::Overlap skipped_part(const Match& match, const Skipped& skipped) const;
  [[nodiscard]] bool is_single_word(std::string_view text, TextRange range) const;

  std::map<TokenId, Entry> entries_;
  std::map<std::string, Name, std::less<>> names_;
  Matcher plain_;
  Matcher normalized_;
  std::optional<Regex> word_;  // where a token must be a single word
};

}  // namespace polystate::tokenizer
