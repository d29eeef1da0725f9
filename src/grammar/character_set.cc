#include "grammar/character_set.h"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

namespace polystate::grammar {
namespace {

constexpr char32_t kFirstSurrogate = 0xD800;
constexpr char32_t kLastSurrogate = 0xDFFF;

// Adds the parts of a range that are before and behind the surrogates.
void add_characters(const CharacterSet::Range& range, std::vector<CharacterSet::Range>& found) {
  if (range.last < kFirstSurrogate || range.first > kLastSurrogate) {
    found.push_back(range);
    return;
  }
  if (range.first < kFirstSurrogate) found.push_back({range.first, kFirstSurrogate - 1});
  if (range.last > kLastSurrogate) found.push_back({kLastSurrogate + 1, range.last});
}

}  // namespace

CharacterSet::CharacterSet(std::initializer_list<Range> ranges)
    : CharacterSet(std::vector<Range>(ranges)) {}

CharacterSet::CharacterSet(std::vector<Range> ranges) {
  std::ranges::sort(ranges, {}, &Range::first);
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  for (const Range& range : joined) add_characters(range, ranges_);
}

CharacterSet CharacterSet::all() { return {Range{0, kLast}}; }

CharacterSet CharacterSet::one(char32_t character) { return {Range{character, character}}; }

CharacterSet CharacterSet::others() const {
  std::vector<Range> found;
  char32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) found.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLast) found.push_back({next, kLast});
  return CharacterSet(std::move(found));
}

CharacterSet CharacterSet::without(const CharacterSet& removed) const {
  std::vector<Range> left = others().ranges_;
  left.insert(left.end(), removed.ranges_.begin(), removed.ranges_.end());
  return CharacterSet(std::move(left)).others();
}

bool CharacterSet::contains(char32_t character) const {
  return std::ranges::any_of(ranges_, [&](const Range& range) {
    return range.first <= character && character <= range.last;
  });
}

}  // namespace polystate::grammar
