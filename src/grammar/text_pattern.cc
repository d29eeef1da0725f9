#include "grammar/text_pattern.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "grammar/character_set.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using Kind = TextPattern::Kind;

constexpr std::int64_t kNoLimit = TextPattern::kNoLimit;

TextPattern any_text() {
  return TextPattern::repetition(TextPattern::of(CharacterSet::all()), 0, kNoLimit);
}

bool has_anchor(const TextPattern& pattern) {
  return pattern.kind == Kind::kStart || pattern.kind == Kind::kEnd ||
         std::ranges::any_of(pattern.parts, has_anchor);
}

// What is beside a part of an expression, on one side.
enum class Edge : std::uint8_t {
  kParts,    // other parts
  kAnyText,  // any text, unless the part has an anchor there
  kNothing,
};

// Puts any text where an expression has no anchor, and takes the anchors out.
class Search {
 public:
  [[nodiscard]] bool has_failed() const { return has_failed_; }

  TextPattern whole(TextPattern part, Edge before, Edge after) {
    if (!has_anchor(part)) return surrounded(std::move(part), before, after);
    if (part.kind == Kind::kSequence) return of_sequence(std::move(part.parts), before, after);
    if (part.kind == Kind::kChoice) {
      for (TextPattern& each : part.parts) each = whole(std::move(each), before, after);
      return part;
    }
    std::vector<TextPattern> alone;
    if (part.kind != Kind::kRepetition) {
      alone.push_back(std::move(part));
      return of_sequence(std::move(alone), before, after);
    }
    if (part.least != 0 || part.most != 1) return failed();
    alone.push_back(std::move(part.parts.front()));
    alone.emplace_back();
    return whole(TextPattern::choice(std::move(alone)), before, after);
  }

 private:
  TextPattern failed() {
    has_failed_ = true;
    return {};
  }

  static TextPattern surrounded(TextPattern part, Edge before, Edge after) {
    const bool is_empty = part.kind == Kind::kSequence && part.parts.empty();
    std::vector<TextPattern> parts;
    if (before == Edge::kAnyText) parts.push_back(any_text());
    if (!is_empty) parts.push_back(std::move(part));
    if (after == Edge::kAnyText && !(is_empty && before == Edge::kAnyText))
      parts.push_back(any_text());
    return TextPattern::sequence(std::move(parts));
  }

  TextPattern of_sequence(std::vector<TextPattern> parts, Edge before, Edge after) {
    std::size_t first = 0;
    std::size_t last = parts.size();
    for (; first < last && parts[first].kind == Kind::kStart; ++first) {
      if (before == Edge::kParts) return failed();
      before = Edge::kNothing;
    }
    for (; first < last && parts[last - 1].kind == Kind::kEnd; --last) {
      if (after == Edge::kParts) return failed();
      after = Edge::kNothing;
    }
    if (first == last) return surrounded({}, before, after);
    std::vector<TextPattern> found;
    for (std::size_t i = first; i < last; ++i) {
      found.push_back(whole(std::move(parts[i]), i == first ? before : Edge::kParts,
                            i + 1 == last ? after : Edge::kParts));
    }
    return TextPattern::sequence(std::move(found));
  }

  bool has_failed_ = false;
};

constexpr std::int64_t kMostCharacters = 1'000'000'000;

std::int64_t times(std::int64_t count, std::int64_t length) {
  return length != 0 && count > kMostCharacters / length ? kMostCharacters : count * length;
}

// How many characters the texts of a pattern have. Numbers over 10^9 are 10^9.
TextLengths lengths_of(const TextPattern& pattern) {
  if (pattern.kind == Kind::kCharacters) return {1, 1};
  if (pattern.kind == Kind::kRepetition) {
    const TextLengths part = lengths_of(pattern.parts.front());
    if (part.most == 0 || pattern.most == 0) return {0, 0};
    const bool has_limit = part.most != kNoLimit && pattern.most != kNoLimit;
    return {times(pattern.least, part.least),
            has_limit ? times(pattern.most, part.most) : kNoLimit};
  }
  TextLengths found = {0, 0};
  const bool is_choice = pattern.kind == Kind::kChoice;
  if (is_choice) found.least = kMostCharacters;
  for (const TextPattern& each : pattern.parts) {
    const TextLengths part = lengths_of(each);
    const bool has_limit = part.most != kNoLimit && found.most != kNoLimit;
    if (is_choice) {
      found.least = std::min(found.least, part.least);
      found.most = has_limit ? std::max(found.most, part.most) : kNoLimit;
    } else {
      found.least = std::min(found.least + part.least, kMostCharacters);
      found.most = has_limit ? std::min(found.most + part.most, kMostCharacters) : kNoLimit;
    }
  }
  return found;
}

// xgrammar counts repetitions beyond this number, and writes others out.
constexpr std::int64_t kWrittenOut = 128;

std::int64_t copies_of(const TextPattern& repetition) {
  const std::int64_t most = repetition.most == kNoLimit ? repetition.least : repetition.most;
  return most > kWrittenOut ? 1 : std::max(most, std::int64_t{1});
}

// How many characters a pattern has that is written out. Those that JSON escapes take four.
std::int64_t written_size(const TextPattern& pattern) {
  if (pattern.kind == Kind::kCharacters) return pattern.characters.contains('\\') ? 4 : 1;
  std::int64_t size = 0;
  for (const TextPattern& each : pattern.parts)
    size = std::min(size + written_size(each), kMostCharacters);
  return pattern.kind == Kind::kRepetition ? times(copies_of(pattern), size) : size;
}

// How many times the part of repetitions is written that repeat one another and nothing else. How
// a text is divided among these is open, and the time to compile grows with the cube.
std::int64_t nested_copies(const TextPattern& pattern) {
  std::int64_t most = 0;
  for (const TextPattern& each : pattern.parts) most = std::max(most, nested_copies(each));
  if (pattern.kind != Kind::kRepetition) return most;
  const TextPattern* const first = &pattern.parts.front();
  const TextPattern* inner = first;
  std::int64_t copies = copies_of(pattern);
  while (inner->kind == Kind::kRepetition && inner->least != inner->most) {
    copies = times(copies, copies_of(*inner));
    inner = &inner->parts.front();
  }
  return inner == first ? most : std::max(most, copies);
}

// Adds the characters that all texts of a pattern begin with; false where others may follow.
bool add_beginning(const TextPattern& pattern, std::vector<CharacterSet>& found) {
  if (pattern.kind == Kind::kCharacters) {
    found.push_back(pattern.characters);
    return true;
  }
  if (pattern.kind == Kind::kRepetition && pattern.least > 0) {
    add_beginning(pattern.parts.front(), found);
    return false;
  }
  return pattern.kind == Kind::kSequence &&
         std::ranges::all_of(pattern.parts,
                             [&](const TextPattern& each) { return add_beginning(each, found); });
}

// The places of a text up to which a pattern may have matched, by the number of characters.
using Places = std::vector<bool>;

bool is_any(const Places& places) { return std::ranges::find(places, true) != places.end(); }

// Follows a pattern through a text, for a number of steps.
class Walk {
 public:
  Walk(std::vector<char32_t> text, std::int64_t& steps_left)
      : text_(std::move(text)), steps_left_(steps_left) {}

  [[nodiscard]] bool matches(const TextPattern& pattern) {
    Places start(text_.size() + 1, false);
    start.front() = true;
    return after(pattern, start).back();
  }

 private:
  Places after(const TextPattern& pattern, const Places& before) {
    Places places(before.size(), false);
    steps_left_ -= std::ssize(before);
    if (steps_left_ < 0) return places;
    switch (pattern.kind) {
      case Kind::kCharacters:
        for (std::size_t i = 0; i < text_.size(); ++i)
          places[i + 1] = before[i] && pattern.characters.contains(text_[i]);
        return places;
      case Kind::kChoice:
        for (const TextPattern& each : pattern.parts) join(places, after(each, before));
        return places;
      case Kind::kRepetition:
        return after_repetition(pattern, before);
      default:
        places = before;
        for (const TextPattern& each : pattern.parts) places = after(each, places);
        return places;
    }
  }

  // Each time takes the places further, or leaves them as they are.
  Places after_repetition(const TextPattern& pattern, Places places) {
    for (std::int64_t i = 0; i < pattern.least && is_any(places); ++i) {
      Places next = after(pattern.parts.front(), places);
      if (next == places) break;
      places = std::move(next);
    }
    Places all = places;
    for (std::int64_t i = pattern.least; i != pattern.most && is_any(places); ++i) {
      places = after(pattern.parts.front(), places);
      const Places known = all;
      join(all, places);
      if (all == known) break;
    }
    return all;
  }

  static void join(Places& places, const Places& others) {
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = places[i] || others[i];
  }

  std::vector<char32_t> text_;
  std::int64_t& steps_left_;
};

}  // namespace

TextPattern TextPattern::of(CharacterSet characters) {
  TextPattern found;
  found.kind = Kind::kCharacters;
  found.characters = std::move(characters);
  return found;
}

TextPattern TextPattern::sequence(std::vector<TextPattern> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  TextPattern found;
  found.parts = std::move(parts);
  return found;
}

TextPattern TextPattern::choice(std::vector<TextPattern> parts) {
  if (parts.size() == 1) return std::move(parts.front());
  TextPattern found;
  found.kind = Kind::kChoice;
  found.parts = std::move(parts);
  return found;
}

TextPattern TextPattern::repetition(TextPattern part, std::int64_t least, std::int64_t most) {
  TextPattern found;
  found.kind = Kind::kRepetition;
  found.parts.push_back(std::move(part));
  found.least = least;
  found.most = most;
  return found;
}

Result<TextPattern> texts_with(TextPattern pattern) {
  Search search;
  TextPattern found = search.whole(std::move(pattern), Edge::kAnyText, Edge::kAnyText);
  if (!search.has_failed()) return found;
  return Error{ErrorCode::kUnsupported,
               "'^' or '$' in the middle is not enforced in an expression"};
}

bool limit_lengths(TextPattern& pattern, const TextLengths& lengths) {
  const TextLengths has = lengths_of(pattern);
  const bool is_short =
      lengths.most == kNoLimit || (has.most != kNoLimit && has.most <= lengths.most);
  if (has.least >= lengths.least && is_short) return true;
  if (pattern.kind != Kind::kRepetition || pattern.parts.front().kind != Kind::kCharacters)
    return false;
  const std::int64_t least = std::max(pattern.least, lengths.least);
  const bool has_both = pattern.most != kNoLimit && lengths.most != kNoLimit;
  const std::int64_t most =
      has_both ? std::min(pattern.most, lengths.most) : std::max(pattern.most, lengths.most);
  if (most != kNoLimit && most < least) return false;
  pattern.least = least;
  pattern.most = most;
  return true;
}

Status check_repetitions(const TextPattern& pattern) {
  // Either takes some seconds with a vocabulary of 32,000 tokens.
  constexpr std::int64_t kMostSize = 512;
  constexpr std::int64_t kMostNested = 32;
  const std::int64_t nested = nested_copies(pattern);
  if (nested > kMostNested) {
    return Error{ErrorCode::kContract, "the expression repeats a part " + std::to_string(nested) +
                                           " times by repetitions of repetitions, and may " +
                                           std::to_string(kMostNested) + " times"};
  }
  const std::int64_t size = written_size(pattern);
  if (size <= kMostSize) return {};
  return Error{ErrorCode::kContract, "the expression has " + std::to_string(size) +
                                         " characters where its repetitions are written out, and "
                                         "may have " +
                                         std::to_string(kMostSize)};
}

Status check_expression(std::string_view expression) {
  constexpr std::string_view kAnyCase = "(?i)";
  if (expression.starts_with(kAnyCase)) expression.remove_prefix(kAnyCase.size());
  const Result<TextPattern> pattern = parse_pattern(expression);
  return pattern ? check_repetitions(*pattern) : Status();
}

bool begin_otherwise(const TextPattern& one, const TextPattern& other) {
  std::vector<CharacterSet> first;
  std::vector<CharacterSet> second;
  add_beginning(one, first);
  add_beginning(other, second);
  for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    if (first[i].without(second[i]) == first[i]) return true;
  }
  return false;
}

Result<bool> TextMatcher::matches(const TextPattern& pattern, std::string_view text) {
  std::vector<char32_t> characters;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character character = character_at(text, i);
    characters.push_back(character.code_point);
    i += character.size;
  }
  const bool found = Walk(std::move(characters), steps_left_).matches(pattern);
  if (steps_left_ >= 0) return found;
  return Error{ErrorCode::kUnsupported, "names are not searched by expressions for so long"};
}

}  // namespace polystate::grammar
