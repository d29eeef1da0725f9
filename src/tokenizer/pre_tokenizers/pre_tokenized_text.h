#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/tokenizer/encoding.h"
#include "tokenizer/aligned_text.h"

namespace polystate::tokenizer {

// A part of a normalized text: either still to be tokenized, or an added token already.
struct Piece {
  std::uint32_t begin;
  std::uint32_t end;
  std::optional<TokenId> token;
};

// Calls keep(begin, end) for the bytes of a token that stay where its text is written anew: the
// first and the last, which say where it is. Nobody reads those between, and several tokens may
// take one run of white space: all of them could be many times the text.
template <typename Keep>
void keep_token(std::uint32_t begin, std::uint32_t end, Keep&& keep) {
  if (end - begin <= 2) return keep(begin, end);
  keep(begin, begin + 1);
  keep(end - 1, end);
}

// A normalized text and the pieces that it is split into so far, in order; none is empty. Bytes
// that are in no piece were removed.
class PreTokenizedText {
 public:
  // Starts with no piece. `text` is used where it is; without alignment, offsets are not tracked.
  void start(std::string_view text, std::span<const TextRange> alignment, bool tracks) {
    text_ = text;
    alignment_ = alignment;
    tracks_ = tracks;
    pieces_.clear();
  }

  // Gives the text to pieces that were added for it before it was there.
  void set_text(std::string_view text, std::span<const TextRange> alignment) {
    text_ = text;
    alignment_ = alignment;
  }

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::string_view text_of(const Piece& piece) const {
    return text_.substr(piece.begin, piece.end - piece.begin);
  }
  // For each byte of text(); empty where offsets are not tracked.
  [[nodiscard]] std::span<const TextRange> alignment() const { return alignment_; }
  // Where in the caller's text a piece starts. Without tracking: where it starts in text().
  [[nodiscard]] std::uint32_t origin(const Piece& piece) const {
    return tracks_ ? alignment_[piece.begin].begin : piece.begin;
  }
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  void add(Piece piece) { pieces_.push_back(piece); }

  // Replaces each piece that is not a token by those that split(piece, out) appends to `out`, which
  // may be empty: such are left out.
  template <typename Split>
  void split(Split&& split) {
    spare_pieces_.clear();
    for (const Piece& piece : pieces_) {
      if (piece.token) {
        spare_pieces_.push_back(piece);
      } else {
        split(piece, spare_pieces_);
      }
    }
    pieces_.swap(spare_pieces_);
  }

  // Rewrites the text of each piece that is not a token by rewrite(piece, edit).
  template <typename Rewrite>
  void rewrite(Rewrite&& rewrite) {
    std::string text;
    std::vector<TextRange> alignment;
    text.reserve(text_.size() + text_.size() / 2);
    TextEdit edit(text_, alignment_, text, tracks_ ? &alignment : nullptr);
    for (Piece& piece : pieces_) {
      const auto begin = static_cast<std::uint32_t>(text.size());
      if (piece.token) {
        keep_token(piece.begin, piece.end,
                   [&](std::uint32_t from, std::uint32_t to) { edit.keep(from, to); });
      } else {
        rewrite(static_cast<const Piece&>(piece), edit);
      }
      piece.begin = begin;
      piece.end = static_cast<std::uint32_t>(text.size());
    }
    own_text_ = std::move(text);
    own_alignment_ = std::move(alignment);
    text_ = own_text_;
    alignment_ = own_alignment_;
  }

 private:
  std::string_view text_;
  std::span<const TextRange> alignment_;
  bool tracks_ = false;
  std::vector<Piece> pieces_;
  std::vector<Piece> spare_pieces_;
  std::string own_text_;  // what text_ and alignment_ refer to once they were rewritten
  std::vector<TextRange> own_alignment_;
};

}  // namespace polystate::tokenizer
