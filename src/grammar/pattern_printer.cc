// Writes patterns as the expressions that xgrammar follows.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "grammar/character_set.h"
#include "grammar/text_pattern.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using Kind = TextPattern::Kind;

// An escape of any character. One beyond U+FFFF may be a pair of escapes; half of one is no
// character.
constexpr std::string_view kAnyEscape =
    R"(\\(?:["\\\/bfnrt]|u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}|)"
    R"([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})))";

CharacterSet escaped_characters() { return {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}; }

// Control characters that are not white space. Two of them have a meaning for the readers of
// calls.
CharacterSet never_plain() { return {{0, 0x08}, {0x0B, 0x0C}, {0x0E, 0x1F}}; }

std::string hexadecimal(char32_t value, std::size_t digits) {
  std::string text;
  while (value != 0 || text.size() < digits) {
    text.insert(text.begin(), "0123456789abcdef"[value & 15U]);
    value >>= 4U;
  }
  return text;
}

// A character where `special` ones mean something else.
void append(char32_t character, std::string_view special, std::string& text) {
  if (character < 0x20 || (character >= 0x7F && character < 0xA0)) {
    text += "\\u" + hexadecimal(character, 4);
  } else if (character > 0xFFFD) {
    text += "\\u{" + hexadecimal(character, 1) + "}";
  } else {
    if (character < 0x80 && special.find(static_cast<char>(character)) != std::string_view::npos)
      text += '\\';
    append_character(character, text);
  }
}

void append_range(const CharacterSet::Range& range, std::string& text) {
  constexpr std::string_view kSpecial = R"([]\^-)";
  append(range.first, kSpecial, text);
  if (range.last > range.first + 1) text += '-';
  if (range.last > range.first) append(range.last, kSpecial, text);
}

// One of the characters of a set that is neither empty nor all, as one element of an expression.
std::string one_of(const CharacterSet& set) {
  const std::vector<CharacterSet::Range>& ranges = set.ranges();
  std::string text;
  if (ranges.size() == 1 && ranges[0].first == ranges[0].last) {
    append(ranges[0].first, R"(^$.*+?()[]{}|\/)", text);
    return text;
  }
  if (ranges.back().last == CharacterSet::kLast && ranges.size() > 1) {
    const CharacterSet others = set.others();
    for (const CharacterSet::Range& each : others.ranges()) append_range(each, text);
    return "[^" + text + "]";
  }
  // xgrammar reads `^` as a negation at the front even where it is escaped.
  const bool is_caret_first = ranges[0].first == U'^';
  for (const CharacterSet::Range& each : ranges) {
    if (!is_caret_first || each.first != U'^') {
      append_range(each, text);
    } else if (each.last > U'^') {
      append_range({U'_', each.last}, text);
    }
  }
  return "[" + text + (is_caret_first ? R"(\^])" : "]");
}

struct ShortEscape {
  char32_t character;
  char32_t letter;
};
constexpr std::array<ShortEscape, 7> kShortEscapes = {
    {{U'"', U'"'}, {U'\\', U'\\'}, {8, U'b'}, {9, U't'}, {10, U'n'}, {12, U'f'}, {13, U'r'}}};

bool has_short_escape(char32_t character) {
  return std::ranges::find(kShortEscapes, character, &ShortEscape::character) !=
         kShortEscapes.end();
}

// The last digits of \u000X (`row` 0) and \u001X (1) for those of a set without a short escape.
CharacterSet last_digits(const CharacterSet& set, char32_t row) {
  std::vector<CharacterSet::Range> digits;
  for (char32_t digit = 0; digit < 16; ++digit) {
    const char32_t character = row * 16 + digit;
    if (has_short_escape(character) || !set.contains(character)) continue;
    if (digit < 10) {
      digits.push_back({U'0' + digit, U'0' + digit});
    } else {
      digits.push_back({U'a' + digit - 10, U'a' + digit - 10});
      digits.push_back({U'A' + digit - 10, U'A' + digit - 10});
    }
  }
  return CharacterSet(std::move(digits));
}

// The escapes of the characters of a set that JSON escapes; empty where there are none.
std::string escapes_of(const CharacterSet& set) {
  if (set == CharacterSet::all()) return std::string(kAnyEscape);
  std::vector<CharacterSet::Range> letters;
  for (const ShortEscape& each : kShortEscapes) {
    if (set.contains(each.character)) letters.push_back({each.letter, each.letter});
  }
  std::vector<std::string> ways;
  if (!letters.empty()) ways.push_back(one_of(CharacterSet(std::move(letters))));
  for (char32_t row = 0; row < 2; ++row) {
    const CharacterSet digits = last_digits(set, row);
    if (!digits.empty()) ways.push_back((row == 0 ? "u000" : "u001") + one_of(digits));
  }
  if (ways.empty()) return {};
  std::string text = ways[0];
  for (std::size_t i = 1; i < ways.size(); ++i) text += "|" + ways[i];
  return R"(\\)" + (ways.size() > 1 ? "(?:" + text + ")" : text);
}

class Printer {
 public:
  explicit Printer(TextForm form) : form_(form) {}

  // Whether some character cannot be written.
  [[nodiscard]] bool has_failed() const { return has_failed_; }

  // A pattern as it may stand in a sequence.
  std::string printed(const TextPattern& pattern) {
    std::string text;
    switch (pattern.kind) {
      case Kind::kCharacters:
        return characters(pattern.characters);
      case Kind::kSequence:
        for (const TextPattern& each : pattern.parts) text += printed(each);
        return text;
      case Kind::kChoice:
        for (const TextPattern& each : pattern.parts) text += "|" + printed(each);
        return "(?:" + text.substr(1) + ")";
      case Kind::kRepetition:
        return repetition(pattern);
      default:
        return {};  // a pattern without anchors has no other
    }
  }

 private:
  std::string characters(const CharacterSet& set) {
    const CharacterSet plain =
        set.without(form_ == TextForm::kPlain ? never_plain() : escaped_characters());
    std::string escapes = form_ == TextForm::kJson ? escapes_of(set) : std::string();
    if (plain.empty() && escapes.empty()) has_failed_ = true;
    if (plain.empty()) return escapes;
    if (escapes.empty()) return one_of(plain);
    return "(?:" + one_of(plain) + "|" + escapes + ")";
  }

  std::string repetition(const TextPattern& pattern) {
    const TextPattern& part = pattern.parts.front();
    std::string text = printed(part);
    if (text.empty() || pattern.most == 0) return {};
    if (!is_one_element(part)) text = "(?:" + text + ")";
    return text + quantifier(pattern.least, pattern.most);
  }

  // Whether a quantifier behind what is printed of it is about all of it.
  [[nodiscard]] bool is_one_element(const TextPattern& pattern) const {
    if (pattern.kind == Kind::kChoice) return true;
    if (pattern.kind != Kind::kCharacters) return false;
    return form_ != TextForm::kJson || !pattern.characters.without(escaped_characters()).empty();
  }

  static std::string quantifier(std::int64_t least, std::int64_t most) {
    if (most == TextPattern::kNoLimit) {
      if (least < 2) return least == 0 ? "*" : "+";
      return "{" + std::to_string(least) + ",}";
    }
    if (least == 0 && most == 1) return "?";
    return "{" + std::to_string(least) + "," + std::to_string(most) + "}";
  }

  TextForm form_;
  bool has_failed_ = false;
};

}  // namespace

Result<std::string> expression_of(const TextPattern& pattern, TextForm form) {
  Printer printer(form);
  std::string text = printer.printed(pattern);
  if (printer.has_failed()) {
    return Error{ErrorCode::kUnsupported,
                 "a character that these texts cannot have is not enforced in an expression"};
  }
  if (text.size() <= kMaxExpressionBytes) return text;
  return Error{ErrorCode::kContract, "the expression, as it is compiled, has " +
                                         std::to_string(text.size()) + " bytes, and may have " +
                                         std::to_string(kMaxExpressionBytes)};
}

}  // namespace polystate::grammar
