// Reads regular expressions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
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

constexpr std::size_t kMaxDepth = 200;  // of groups in one another

bool is_digit(char each) { return each >= '0' && each <= '9'; }

// Those of all languages that have `\s`.
CharacterSet all_spaces() {
  return {{'\t', '\r'},     {0x1C, ' '},      {0x85, 0x85},     {0xA0, 0xA0},
          {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
          {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

// \d, \w, \s and their opposites; nothing for another letter. `\S` has no space of any language,
// and neither has `[^\s]`.
std::optional<CharacterSet> class_of(char32_t letter, bool is_negated) {
  switch (letter) {
    case U'd':
      return CharacterSet{{'0', '9'}};
    case U'D':
      return CharacterSet{{'0', '9'}}.others();
    case U'w':
      return CharacterSet{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    case U'W':
      return CharacterSet{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}.others();
    case U's':
      return is_negated ? all_spaces() : CharacterSet{{'\t', '\r'}, {' ', ' '}};
    case U'S':
      return is_negated ? CharacterSet{{'\t', '\r'}, {' ', ' '}}.others() : all_spaces().others();
    default:
      return std::nullopt;
  }
}

// What an escape or a character of a class is: characters, or one of them, which may be the end of
// a range.
struct Item {
  CharacterSet set;
  bool is_one = false;
};

Item one(char32_t character) { return {CharacterSet::one(character), true}; }

// Where an escape stands.
enum class Within : std::uint8_t { kNothing, kClass, kNegatedClass };

// How many times an element is repeated.
struct Counts {
  std::int64_t least;
  std::int64_t most;
};

// Reads an expression. The first error stays; reading ends there.
class Parser {
 public:
  explicit Parser(std::string_view expression) : rest_(expression) {}

  Result<TextPattern> parse() {
    TextPattern found = alternatives();
    if (!error_ && !rest_.empty()) fail("a ')' has no '('");
    if (error_) return *std::move(error_);
    return found;
  }

 private:
  void fail(const std::string& message, ErrorCode code = ErrorCode::kContract) {
    if (!error_) error_ = Error{code, message};
    rest_ = {};
  }
  void refuse(const std::string& what) {
    fail(what + " is not enforced in an expression", ErrorCode::kUnsupported);
  }

  [[nodiscard]] bool is_next(char each) const { return rest_.starts_with(each); }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  char32_t take_character() {
    const Utf8Character found = rest_.empty() ? Utf8Character{} : first_character(rest_);
    if (found.size == 0) fail("the expression is not UTF-8");
    rest_.remove_prefix(found.size);
    return found.code_point;
  }

  TextPattern alternatives() {
    std::vector<TextPattern> found;
    do {
      found.push_back(sequence());
    } while (take("|"));
    return TextPattern::choice(std::move(found));
  }

  TextPattern sequence() {
    std::vector<TextPattern> found;
    while (!rest_.empty() && !is_next('|') && !is_next(')')) found.push_back(item());
    return TextPattern::sequence(std::move(found));
  }

  // An element with its quantifier.
  TextPattern item() {
    TextPattern found;
    if (take("^")) {
      found.kind = Kind::kStart;
      return found;
    }
    if (take("$")) {
      found.kind = Kind::kEnd;
      return found;
    }
    found = element();
    const std::optional<Counts> counts = quantifier();
    if (!counts) return found;
    return TextPattern::repetition(std::move(found), counts->least, counts->most);
  }

  TextPattern element() {
    if (take("(")) return group();
    if (is_quantifier()) {
      fail("'" + std::string(1, rest_[0]) + "' repeats nothing");
      return {};
    }
    if (take(".")) return TextPattern::of(CharacterSet::one('\n').others());
    if (take("[")) return TextPattern::of(character_class());
    return TextPattern::of(take("\\") ? escape(Within::kNothing).set
                                      : CharacterSet::one(take_character()));
  }

  TextPattern group() {
    if (++depth_ > kMaxDepth) {
      fail("groups of the expression are nested deeper than " + std::to_string(kMaxDepth));
      return {};
    }
    take_group_kind();
    TextPattern found = alternatives();
    if (!error_ && !take(")")) fail("a '(' has no ')'");
    --depth_;
    return found;
  }

  // Takes `?:`, or a group's name.
  void take_group_kind() {
    if (take("?:") || !is_next('?')) return;
    for (const std::string_view each : {"?=", "?!", "?<=", "?<!"}) {
      if (rest_.starts_with(each)) return refuse("look-around");
    }
    const std::size_t end = rest_.find('>');
    if (end != std::string_view::npos && (rest_.starts_with("?<") || rest_.starts_with("?P<"))) {
      rest_.remove_prefix(end + 1);
      return;
    }
    refuse("'(?" + std::string(rest_.substr(1, 1)) + "'");
  }

  // Whether a quantifier is next; `{` begins one where a number or a comma follows.
  [[nodiscard]] bool is_quantifier() const {
    if (is_next('*') || is_next('+') || is_next('?')) return true;
    return is_next('{') && rest_.size() > 1 && (is_digit(rest_[1]) || rest_[1] == ',');
  }

  std::optional<Counts> quantifier() {
    if (!is_quantifier()) return std::nullopt;
    Counts counts = {0, TextPattern::kNoLimit};
    if (take("+")) {
      counts.least = 1;
    } else if (take("?")) {
      counts.most = 1;
    } else if (!take("*")) {
      counts = braces();
    }
    take("?");  // which says what is tried first
    if (is_quantifier()) refuse("a quantifier of a quantifier");
    return counts;
  }

  Counts braces() {
    take("{");
    if (is_next(',')) refuse("'{,'");
    Counts counts = {number(), 0};
    counts.most = counts.least;
    if (take(",")) counts.most = is_next('}') ? TextPattern::kNoLimit : number();
    if (!take("}")) fail("a '{' has no '}'");
    if (counts.most != TextPattern::kNoLimit && counts.most < counts.least)
      fail("a number of times ends before it begins");
    return counts;
  }

  std::int64_t number() {
    constexpr std::size_t kMaxDigits = 9;
    std::int64_t value = 0;
    for (std::size_t digits = 0; !rest_.empty() && is_digit(rest_[0]); ++digits) {
      if (digits == kMaxDigits) {
        refuse("a number of times of over 9 digits");
        break;
      }
      value = value * 10 + (rest_[0] - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }

  CharacterSet character_class() {
    const Within within = take("^") ? Within::kNegatedClass : Within::kClass;
    std::vector<CharacterSet::Range> found;
    const auto add = [&](const CharacterSet& set) {
      found.insert(found.end(), set.ranges().begin(), set.ranges().end());
    };
    bool has_spaces = false;
    bool has_others = false;
    if (is_next(']')) refuse("an empty class");
    while (!rest_.empty() && !is_next(']')) {
      has_spaces = has_spaces || rest_.starts_with("\\s");
      has_others = has_others || rest_.starts_with("\\S");
      const Item item = class_item(within);
      add(item.set);
      if (!is_next('-') || rest_.size() < 2 || rest_[1] == ']') continue;
      take("-");
      const Item last = class_item(within);
      add(last.set);
      if (!error_) found.push_back(between(item, last));
    }
    if (!take("]")) fail("a '[' has no ']'");
    // `[\s\S]` is any character, though a space of some languages is in neither.
    const bool is_any = has_spaces && has_others;
    const CharacterSet set = is_any ? CharacterSet::all() : CharacterSet(std::move(found));
    return within == Within::kNegatedClass ? set.others() : set;
  }

  // What a '-' adds between two items: a range, or itself.
  CharacterSet::Range between(const Item& item, const Item& last) {
    if (!item.is_one || !last.is_one) return {'-', '-'};
    const char32_t from = item.set.ranges().front().first;
    const char32_t to = last.set.ranges().front().first;
    if (to < from) fail("a range of a class ends before it begins");
    return {from, to};
  }

  Item class_item(Within within) { return take("\\") ? escape(within) : one(take_character()); }

  // What follows a backslash.
  Item escape(Within within) {
    if (rest_.empty()) {
      fail("the expression ends with a backslash");
      return {};
    }
    const char32_t letter = take_character();
    if (std::optional<CharacterSet> set = class_of(letter, within == Within::kNegatedClass))
      return {*std::move(set)};
    constexpr std::string_view kLetters = "tnvfr";
    constexpr std::string_view kMeanings = "\t\n\v\f\r";
    if (letter < 0x80) {
      const std::size_t at = kLetters.find(static_cast<char>(letter));
      if (at != std::string_view::npos) return one(static_cast<unsigned char>(kMeanings[at]));
    }
    if (letter == U'b' && within != Within::kNothing) return one('\b');
    if (letter == U'0' && (rest_.empty() || !is_digit(rest_[0]))) return one(0);
    if (letter == U'x') return one(code(2));
    if (letter == U'u') return one(unicode());
    const bool is_alphanumeric = (letter >= U'0' && letter <= U'9') ||
                                 (letter >= U'A' && letter <= U'Z') ||
                                 (letter >= U'a' && letter <= U'z');
    if (!is_alphanumeric) return one(letter);
    refuse("'\\" + std::string(1, static_cast<char>(letter)) + "'");
    return {};
  }

  // So many hexadecimal digits.
  char32_t code(std::size_t count) {
    const std::string_view text = rest_.substr(0, count);
    if (text.empty() || text.size() < count ||
        text.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      fail("an escape of the expression lacks hexadecimal digits");
      return 0;
    }
    rest_.remove_prefix(count);
    char32_t value = 0;
    for (const char each : text) {
      const char32_t digit = is_digit(each) ? static_cast<char32_t>(each - '0')
                                            : (static_cast<unsigned char>(each) & 7U) + 9U;
      value = value * 16 + digit;
    }
    return value;
  }

  // \uXXXX, a pair of these, or \u{X}.
  char32_t unicode() {
    char32_t value = 0;
    if (take("{")) {
      value = code(std::min<std::size_t>(rest_.find('}'), 7));
      take("}");
    } else {
      value = code(4);
      if (value >= 0xD800 && value < 0xDC00 && take("\\u")) {
        const char32_t low = code(4);
        const bool is_pair = low >= 0xDC00 && low < 0xE000;
        value = is_pair ? 0x10000 + ((value - 0xD800) << 10U) + (low - 0xDC00) : value;
      }
    }
    if (value > CharacterSet::kLast || (value >= 0xD800 && value < 0xE000)) {
      refuse("an escape of what is no character");
      return 0;
    }
    return value;
  }

  std::string_view rest_;
  std::size_t depth_ = 0;
  std::optional<Error> error_;
};

}  // namespace

Result<TextPattern> parse_pattern(std::string_view expression) {
  if (expression.size() <= kMaxExpressionBytes) return Parser(expression).parse();
  return Error{ErrorCode::kContract, "the expression has " + std::to_string(expression.size()) +
                                         " bytes, and may have " +
                                         std::to_string(kMaxExpressionBytes)};
}

}  // namespace polystate::grammar
