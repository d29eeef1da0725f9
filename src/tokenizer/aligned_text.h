#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/tokenizer/encoding.h"

namespace polystate::tokenizer {

class Deadline;

// A text that is being normalized, and for each of its bytes the range of the caller's text that it
// stands for. Where nobody asks for offsets, `alignment` is empty and stays so.
struct AlignedText {
  std::string text;
  std::vector<TextRange> alignment;
  bool tracks = false;       // whether `alignment` is kept
  std::uint32_t origin = 0;  // where the caller's text starts that this one was made from
  // Of expressions that are looked for in it, where it is a part of a text; nullptr: it is whole.
  Deadline* deadline = nullptr;
};

// Writes a changed copy of a text, from left to right, with its alignment. The source must stay as
// it is meanwhile.
class TextEdit {
 public:
  // Appends to `text`, and to `alignment` where it is not null; the source then has one too.
  TextEdit(std::string_view source, std::span<const TextRange> source_alignment, std::string& text,
           std::vector<TextRange>* alignment)
      : source_(source), source_alignment_(source_alignment), text_(text), alignment_(alignment) {}

  // Bytes [begin, end) of the source, unchanged.
  void keep(std::size_t begin, std::size_t end) {
    text_.append(source_, begin, end - begin);
    if (alignment_ != nullptr) {
      const std::span<const TextRange> kept = source_alignment_.subspan(begin, end - begin);
      alignment_->insert(alignment_->end(), kept.begin(), kept.end());
    }
  }
  // New bytes that stand for what byte `at` of the source stands for.
  void put(std::string_view bytes, std::size_t at) {
    text_ += bytes;
    if (alignment_ != nullptr) {
      alignment_->insert(alignment_->end(), bytes.size(), source_alignment_[at]);
    }
  }
  void put(char32_t code_point, std::size_t at);
  // New bytes that stand for what bytes [begin, end) of the source stand for.
  void put_for(std::string_view bytes, std::size_t begin, std::size_t end) {
    text_ += bytes;
    if (alignment_ != nullptr) {
      alignment_->insert(alignment_->end(), bytes.size(),
                         TextRange{source_alignment_[begin].begin, source_alignment_[end - 1].end});
    }
  }
  // New bytes that stand for nothing.
  void put_unaligned(std::string_view bytes, std::uint32_t origin) {
    text_ += bytes;
    if (alignment_ != nullptr) {
      alignment_->insert(alignment_->end(), bytes.size(), TextRange{origin, origin});
    }
  }

 private:
  std::string_view source_;
  std::span<const TextRange> source_alignment_;
  std::string& text_;
  std::vector<TextRange>* alignment_;
};

// A character of a changed text. `taken` characters of the old one are used up by it: 1 where it
// replaces one, 0 where it was added after one, more where it stands for several.
struct ChangedCharacter {
  char32_t code_point;
  int taken;
};
// Puts the characters in place of bytes `range` of `source`. Each is aligned with the first
// character that it uses up, or with the one before.
void put_changed(std::string_view source, TextRange range,
                 std::span<const ChangedCharacter> characters, TextEdit& edit);

// Replaces `text` by what `rewrite(edit)` makes of it.
template <typename Rewrite>
void rewrite_text(AlignedText& text, Rewrite&& rewrite) {
  AlignedText changed;
  changed.tracks = text.tracks;
  changed.origin = text.origin;
  changed.deadline = text.deadline;
  changed.text.reserve(text.text.size() + 16);
  if (text.tracks) changed.alignment.reserve(text.text.size() + 16);
  TextEdit edit(text.text, text.alignment, changed.text,
                text.tracks ? &changed.alignment : nullptr);
  rewrite(edit);
  text = std::move(changed);
}

}  // namespace polystate::tokenizer
