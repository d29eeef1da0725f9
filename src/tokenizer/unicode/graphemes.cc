#include "tokenizer/unicode/graphemes.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

#include "core/utf8.h"
#include "tokenizer/unicode/tables.h"

namespace polystate::tokenizer {
namespace {

using enum GraphemeClass;

// Extend, which all linkers are.
bool is_extend(GraphemeClass kind) {
  return kind == kExtend || kind == kConjunctExtend || kind == kConjunctLinker;
}

// What a cluster has so far.
class Cluster {
 public:
  explicit Cluster(GraphemeClass first) { add(first); }

  // Whether no break comes before `next`.
  [[nodiscard]] bool continues_with(GraphemeClass next) const {
    if (last_ == kControl || next == kControl) return false;                           // GB4, GB5
    if (is_extend(next) || next == kJoiner || next == kSpacingMark) return true;       // GB9, GB9a
    if (last_ == kPrepend) return true;                                                // GB9b
    if (next == kConjunctConsonant) return is_linked_;                                 // GB9c
    if (next == kPictographic) return follows_pictograph_ && last_ == kJoiner;         // GB11
    if (next == kRegionalIndicator) return last_ == kRegionalIndicator && half_flag_;  // GB12, GB13
    return continues_syllable(next);
  }

  void add(GraphemeClass next) {
    const bool stays_conjunct =
        next == kConjunctExtend || next == kConjunctLinker || next == kJoiner;
    is_linked_ = follows_consonant_ && stays_conjunct && (is_linked_ || next == kConjunctLinker);
    follows_consonant_ = next == kConjunctConsonant || (follows_consonant_ && stays_conjunct);
    follows_pictograph_ = next == kPictographic || (follows_pictograph_ && last_ != kJoiner &&
                                                    (is_extend(next) || next == kJoiner));
    half_flag_ = next == kRegionalIndicator && !half_flag_;
    last_ = next;
  }

 private:
  // GB6, GB7 and GB8.
  [[nodiscard]] bool continues_syllable(GraphemeClass next) const {
    const bool after_vowel = last_ == kHangulV || last_ == kHangulLv;
    switch (next) {
      case kHangulL:
      case kHangulLv:
      case kHangulLvt:
        return last_ == kHangulL;
      case kHangulV:
        return last_ == kHangulL || after_vowel;
      case kHangulT:
        return after_vowel || last_ == kHangulT || last_ == kHangulLvt;
      default:
        return false;
    }
  }

  GraphemeClass last_ = kOther;
  bool follows_pictograph_ = false;  // a pictograph, then Extend, then at most one joiner
  bool follows_consonant_ = false;   // a consonant, then what a conjunct may have
  bool is_linked_ = false;           // likewise, with a linker
  bool half_flag_ = false;           // an odd number of regional indicators
};

}  // namespace

GraphemeClass Graphemes::class_of(char32_t code_point) {
  if (code_point >= 0xAC00 && code_point <= 0xD7A3)
    return (code_point - 0xAC00) % 28 == 0 ? kHangulLv : kHangulLvt;
  if (code_point >= 0x1F1E6 && code_point <= 0x1F1FF) return kRegionalIndicator;
  if (code_point >= around_.first && code_point <= around_.last) return around_.kind;
  const auto ranges = grapheme_ranges();
  const auto range = std::ranges::lower_bound(ranges, code_point, {}, &GraphemeRange::last);
  if (range != ranges.end() && range->first <= code_point) {
    around_ = *range;
  } else {
    around_ = {range == ranges.begin() ? 0 : std::prev(range)->last + 1,
               range == ranges.end() ? 0x10FFFF : range->first - 1, kOther};
  }
  return around_.kind;
}

std::size_t Graphemes::end(std::size_t begin) {
  if (text_.substr(begin).starts_with("\r\n")) return begin + 2;  // GB3
  const Utf8Character first = character_at(text_, begin);
  Cluster cluster(class_of(first.code_point));
  std::size_t end = begin + first.size;
  while (end < text_.size()) {
    const Utf8Character next = character_at(text_, end);
    const GraphemeClass kind = class_of(next.code_point);
    if (!cluster.continues_with(kind)) break;
    cluster.add(kind);
    end += next.size;
  }
  return end;
}

}  // namespace polystate::tokenizer
