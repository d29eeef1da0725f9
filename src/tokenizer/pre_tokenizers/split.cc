#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/pre_tokenizers/pre_tokenized_text.h"
#include "tokenizer/pre_tokenizers/pre_tokenizer.h"
#include "tokenizer/pre_tokenizers/pre_tokenizers.h"
#include "tokenizer/regex/deadline.h"
#include "tokenizer/regex/pattern.h"

namespace polystate::tokenizer {
namespace {

class PatternSplit : public PreTokenizer {
 public:
  PatternSplit(Pattern pattern, DelimiterBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  Status pre_tokenize(PreTokenizedText& text) const override;

 private:
  Pattern pattern_;
  DelimiterBehavior behavior_;
  bool invert_;
};

class CharacterSplit : public PreTokenizer {
 public:
  using Kind = std::function<bool(char32_t)>;
  CharacterSplit(Kind is_delimiter, DelimiterBehavior behavior)
      : is_delimiter_(std::move(is_delimiter)), behavior_(behavior) {}
  Status pre_tokenize(PreTokenizedText& text) const override;

 private:
  Kind is_delimiter_;
  DelimiterBehavior behavior_;
};

// Splits `piece` at the delimiters, which are ranges within its text, in order. Inverted, what lies
// between them are the delimiters.
class DelimiterSplit {
 public:
  DelimiterSplit(DelimiterBehavior behavior, bool invert) : behavior_(behavior), invert_(invert) {}
  void split(const Piece& piece, std::span<const TextRange> delimiters, std::vector<Piece>& out);

 private:
  struct Part {
    TextRange range;
    bool delimiter;
  };
  void merge_with_previous();
  void merge_with_next();
  void merge_contiguous();

  DelimiterBehavior behavior_;
  bool invert_;
  std::vector<Part> parts_;  // of the piece at hand
};

}  // namespace

void DelimiterSplit::split(const Piece& piece, std::span<const TextRange> delimiters,
                           std::vector<Piece>& out) {
  parts_.clear();
  std::uint32_t end = 0;
  for (const TextRange& delimiter : delimiters) {
    if (delimiter.begin != end) parts_.push_back({{end, delimiter.begin}, invert_});
    parts_.push_back({delimiter, !invert_});
    end = delimiter.end;
  }
  const std::uint32_t size = piece.end - piece.begin;
  if (end != size) parts_.push_back({{end, size}, invert_});
  switch (behavior_) {
    case DelimiterBehavior::kMergedWithPrevious:
      merge_with_previous();
      break;
    case DelimiterBehavior::kMergedWithNext:
      merge_with_next();
      break;
    case DelimiterBehavior::kContiguous:
      merge_contiguous();
      break;
    case DelimiterBehavior::kRemoved:
    case DelimiterBehavior::kIsolated:
      break;
  }
  const bool removed = behavior_ == DelimiterBehavior::kRemoved;
  for (const Part& part : parts_) {
    if (part.range.begin == part.range.end || (removed && part.delimiter)) continue;
    out.push_back({piece.begin + part.range.begin, piece.begin + part.range.end, {}});
  }
}

// A delimiter joins the part before it, unless that is a delimiter itself.
void DelimiterSplit::merge_with_previous() {
  std::size_t size = 0;
  bool after_delimiter = false;
  for (const Part& part : parts_) {
    if (part.delimiter && !after_delimiter && size > 0) {
      parts_[size - 1].range.end = part.range.end;
    } else {
      parts_[size++] = part;
    }
    after_delimiter = part.delimiter;
  }
  parts_.resize(size);
}

// The same from the other end.
void DelimiterSplit::merge_with_next() {
  std::size_t first = parts_.size();
  bool before_delimiter = false;
  for (std::size_t i = parts_.size(); i > 0; --i) {
    const Part part = parts_[i - 1];
    if (part.delimiter && !before_delimiter && first < parts_.size()) {
      parts_[first].range.begin = part.range.begin;
    } else {
      parts_[--first] = part;
    }
    before_delimiter = part.delimiter;
  }
  parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(first));
}

void DelimiterSplit::merge_contiguous() {
  std::size_t size = 0;
  bool after_delimiter = false;
  for (const Part& part : parts_) {
    if (part.delimiter == after_delimiter && size > 0) {
      parts_[size - 1].range.end = part.range.end;
    } else {
      parts_[size++] = part;
    }
    after_delimiter = part.delimiter;
  }
  parts_.resize(size);
}

Status PatternSplit::pre_tokenize(PreTokenizedText& text) const {
  Status status;
  DelimiterSplit splitter(behavior_, invert_);
  std::vector<TextRange> matches;
  Deadline deadline(text.text().size());
  text.split([&](const Piece& piece, std::vector<Piece>& out) {
    if (!status) return;
    matches.clear();
    status = pattern_.find(text.text_of(piece), matches, deadline);
    if (status) splitter.split(piece, matches, out);
  });
  return status;
}

Status CharacterSplit::pre_tokenize(PreTokenizedText& text) const {
  DelimiterSplit splitter(behavior_, false);
  std::vector<TextRange> matches;
  text.split([&](const Piece& piece, std::vector<Piece>& out) {
    matches.clear();
    const std::string_view content = text.text_of(piece);
    for (std::uint32_t i = 0; i < content.size();) {
      const Utf8Character character = character_at(content, i);
      if (is_delimiter_(character.code_point)) matches.push_back({i, i + character.size});
      i += character.size;
    }
    splitter.split(piece, matches, out);
  });
  return {};
}

std::unique_ptr<const PreTokenizer> pattern_split(Pattern pattern, DelimiterBehavior behavior,
                                                  bool invert) {
  return std::make_unique<PatternSplit>(std::move(pattern), behavior, invert);
}

std::unique_ptr<const PreTokenizer> character_split(std::function<bool(char32_t)> is_delimiter,
                                                    DelimiterBehavior behavior) {
  return std::make_unique<CharacterSplit>(std::move(is_delimiter), behavior);
}

}  // namespace polystate::tokenizer
