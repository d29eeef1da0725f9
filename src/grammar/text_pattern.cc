#include "grammar/text_pattern.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

constexpr std::size_t kMaxBytes = 4096;  // which xgrammar takes
constexpr std::size_t kMaxDepth = 200;   // of groups in one another
constexpr char32_t kLastCharacter = 0x10FFFF;

struct Range {
  char32_t first;
  char32_t last;
};

// Characters as ranges; after `normalised` in order, with others between them.
using Characters = std::vector<Range>;

Characters normalised(Characters set) {
  std::ranges::sort(set, {}, &Range::first);
  Characters found;
  for (const Range& each : set) {
    if (!found.empty() && each.first <= found.back().last + 1) {
      found.back().last = std::max(found.back().last, each.last);
    } else {
      found.push_back(each);
    }
  }
  return found;
}

Characters all_but(const Characters& normal) {
  Characters found;
  char32_t next = 0;
  for (const Range& each : normal) {
    if (each.first > next) found.push_back({next, each.first - 1});
    next = each.last + 1;
  }
  if (next <= kLastCharacter) found.push_back({next, kLastCharacter});
  return found;
}

bool has(const Characters& set, char32_t character) {
  return std::ranges::any_of(
      set, [&](const Range& each) { return each.first <= character && character <= each.last; });
}

Characters without_escaped(const Characters& set) {
  Characters others = all_but(set);
  others.insert(others.end(), {{0, 0x1F}, {U'"', U'"'}, {U'\\', U'\\'}});
  return all_but(normalised(std::move(others)));
}

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
  if (character < 0x20 || (character >= 0x7F && character < 0xA0) ||
      (character >= 0xD800 && character < 0xE000)) {
    text += "\\u" + hexadecimal(character, 4);
  } else if (character > 0xFFFD) {
    text += "\\u{" + hexadecimal(character, 1) + "}";
  } else {
    if (character < 0x80 && special.find(static_cast<char>(character)) != std::string_view::npos)
      text += '\\';
    append_character(character, text);
  }
}

void append_range(const Range& range, std::string& text) {
  constexpr std::string_view kSpecial = R"([]\^-)";
  append(range.first, kSpecial, text);
  if (range.last > range.first + 1) text += '-';
  if (range.last > range.first) append(range.last, kSpecial, text);
}

// One of the characters of a set that is not empty, as one element of an expression.
std::string one_of(const Characters& normal) {
  std::string text;
  if (normal.size() == 1 && normal[0].first == normal[0].last) {
    append(normal[0].first, R"(^$.*+?()[]{}|\/)", text);
    return text;
  }
  if (normal.back().last == kLastCharacter && normal.size() > 1) {
    for (const Range& each : all_but(normal)) append_range(each, text);
    return "[^" + text + "]";
  }
  // xgrammar reads `^` as a negation at the front even where it is escaped.
  const bool is_caret_first = normal[0].first == U'^';
  for (const Range& each : normal) {
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
Characters last_digits(const Characters& set, char32_t row) {
  Characters digits;
  for (char32_t digit = 0; digit < 16; ++digit) {
    const char32_t character = row * 16 + digit;
    if (has_short_escape(character) || !has(set, character)) continue;
    if (digit < 10) {
      digits.push_back({U'0' + digit, U'0' + digit});
    } else {
      digits.push_back({U'a' + digit - 10, U'a' + digit - 10});
      digits.push_back({U'A' + digit - 10, U'A' + digit - 10});
    }
  }
  return normalised(std::move(digits));
}

// The escapes of the characters of a set that JSON escapes; empty where there are none.
std::string escapes_of(const Characters& set) {
  Characters letters;
  for (const ShortEscape& each : kShortEscapes) {
    if (has(set, each.character)) letters.push_back({each.letter, each.letter});
  }
  std::vector<std::string> ways;
  if (!letters.empty()) ways.push_back(one_of(normalised(std::move(letters))));
  for (char32_t row = 0; row < 2; ++row) {
    const Characters digits = last_digits(set, row);
    if (!digits.empty()) ways.push_back((row == 0 ? "u000" : "u001") + one_of(digits));
  }
  if (ways.empty()) return {};
  std::string text = ways[0];
  for (std::size_t i = 1; i < ways.size(); ++i) text += "|" + ways[i];
  return R"(\\)" + (ways.size() > 1 ? "(?:" + text + ")" : text);
}

// A part of an expression. `is_one`: whether a quantifier behind it is about all of it.
struct Piece {
  std::string text;
  bool is_one = true;
};

// A character of a set; nothing where it cannot be written.
std::optional<Piece> character_of(const Characters& set, TextForm form) {
  if (set.empty()) return std::nullopt;
  if (form == TextForm::kPlain) return Piece{one_of(set)};
  const Characters raw = without_escaped(set);
  std::string escapes = form == TextForm::kJson ? escapes_of(set) : std::string();
  if (raw.empty() && escapes.empty()) return std::nullopt;
  if (escapes.empty()) return Piece{one_of(raw)};
  if (raw.empty()) return Piece{std::move(escapes), false};
  return Piece{"(?:" + one_of(raw) + "|" + escapes + ")"};
}

std::string any_characters(TextForm form) {
  const Characters all = {Range{0, kLastCharacter}};
  return character_of(all, form).value_or(Piece{}).text + "*";
}

// The alternatives of a search, by the ends of the text that they are bound to.
struct Alternatives {
  std::vector<std::string> texts;
  bool has_empty = false;

  void add(std::string text) {
    if (text.empty()) {
      has_empty = true;
    } else {
      texts.push_back(std::move(text));
    }
  }

  [[nodiscard]] bool empty() const { return texts.empty() && !has_empty; }

  // As one element, that may be empty.
  [[nodiscard]] std::string joined() const {
    if (texts.empty()) return {};
    std::string text = "(?:" + texts[0];
    for (std::size_t i = 1; i < texts.size(); ++i) text += "|" + texts[i];
    return text + (has_empty ? ")?" : ")");
  }
};

// What an escape is: characters, or one of them, which may be the end of a range.
struct Item {
  Characters set;
  bool is_one = false;
};

Item one(char32_t character) { return {{{character, character}}, true}; }

// Reads an expression and writes it anew. The first error stays; reading ends there.
class Rewriter {
 public:
  Rewriter(std::string_view pattern, TextForm form) : rest_(pattern), form_(form) {}

  Result<std::string> rewritten() {
    search(true);
    if (error_) return *error_;
    const std::string any = any_characters(form_);
    Alternatives found;
    for (std::size_t bound = 0; bound < found_.size(); ++bound) {
      if (found_[bound].empty()) continue;
      found.add(((bound & kAtStart) != 0 ? "" : any) + found_[bound].joined() +
                ((bound & kAtEnd) != 0 ? "" : any));
    }
    const bool is_one = found.texts.size() == 1 && !found.has_empty;
    return is_one ? found.texts[0] : found.joined();
  }

 private:
  static constexpr std::size_t kAtStart = 1;
  static constexpr std::size_t kAtEnd = 2;

  void fail(ErrorCode code, const std::string& message) {
    if (!error_) error_ = Error{code, message};
    rest_ = {};
  }
  void refuse(const std::string& what) {
    fail(ErrorCode::kUnsupported, what + " is not enforced in an expression");
  }

  [[nodiscard]] bool is_next(char each) const { return rest_.starts_with(each); }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  char32_t take_character() {
    const Utf8Character found = first_character(rest_);
    if (found.size == 0) {
      fail(ErrorCode::kContract, "the expression is not UTF-8");
      return 0;
    }
    rest_.remove_prefix(found.size);
    return found.code_point;
  }

  // Alternatives of the whole expression, or of a group that is an alternative of these.
  void search(bool is_whole) {
    do {
      if (is_group_with_ends()) {
        if (++depth_ > kMaxDepth) return fail_as_deep();
        take_group_start();
        search(false);
        if (!take(")")) fail(ErrorCode::kContract, "a '(' has no ')'");
        --depth_;
        continue;
      }
      std::size_t bound = take("^") ? kAtStart : 0;
      std::string text = sequence();
      if (take("$")) bound |= kAtEnd;
      found_[bound].add(std::move(text));
    } while (take("|"));
    if (error_ || rest_.empty() || (!is_whole && is_next(')'))) return;
    if (is_next(')')) return fail(ErrorCode::kContract, "a ')' has no '('");
    refuse("'" + std::string(1, rest_[0]) + "' in the middle");
  }

  // Whether a group is next that is the whole alternative, and has `^` or `$`.
  [[nodiscard]] bool is_group_with_ends() const {
    if (!is_next('(')) return false;
    std::size_t depth = 0;
    bool is_in_class = false;
    bool has_ends = false;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char each = rest_[i];
      if (each == '\\') {
        ++i;
      } else if (is_in_class) {
        is_in_class = each != ']';
      } else if (each == '[') {
        is_in_class = true;
      } else if (each == '(') {
        ++depth;
      } else if (each == '^' || each == '$') {
        has_ends = true;
      } else if (each == ')' && --depth == 0) {
        const bool is_whole = i + 1 == rest_.size() || rest_[i + 1] == '|' || rest_[i + 1] == ')';
        return has_ends && is_whole;
      }
    }
    return false;
  }

  void fail_as_deep() {
    fail(ErrorCode::kContract,
         "groups of the expression are nested deeper than " + std::to_string(kMaxDepth));
  }

  // Elements up to the end of an alternative, or to what stands only there.
  std::string sequence() {
    std::string text;
    while (!rest_.empty() && !is_next('|') && !is_next(')') && !is_next('^') && !is_next('$')) {
      Piece piece = element();
      const std::string times = quantifier();
      if (piece.text.empty()) continue;
      if (!times.empty() && !piece.is_one) piece.text = "(?:" + piece.text + ")";
      text += piece.text + times;
    }
    return text;
  }

  Piece element() {
    if (is_next('(')) return group();
    if (is_next('*') || is_next('+') || is_next('?') || is_quantifier()) {
      fail(ErrorCode::kContract, "'" + std::string(1, rest_[0]) + "' repeats nothing");
      return {};
    }
    Item item;
    if (take(".")) {
      item.set = all_but({Range{U'\n', U'\n'}});
    } else if (take("[")) {
      item.set = character_class();
    } else if (take("\\")) {
      item = escape(false);
    } else {
      item = one(take_character());
    }
    if (error_) return {};
    std::optional<Piece> piece = character_of(normalised(std::move(item.set)), form_);
    if (piece) return *std::move(piece);
    refuse("a character that these texts cannot have");
    return {};
  }

  // Takes the beginning of a group with its name.
  void take_group_start() {
    take("(");
    if (take("?:") || !is_next('?')) return;
    if (rest_.starts_with("?<=") || rest_.starts_with("?<!") || rest_.starts_with("?=") ||
        rest_.starts_with("?!"))
      return refuse("look-around");
    const std::size_t end = rest_.find('>');
    if ((take("?<") || take("?P<")) && end != std::string_view::npos) {
      rest_.remove_prefix(rest_.find('>') + 1);
      return;
    }
    refuse("'(?" + std::string(rest_.substr(1, 1)) + "'");
  }

  Piece group() {
    if (++depth_ > kMaxDepth) {
      fail_as_deep();
      return {};
    }
    take_group_start();
    Alternatives found;
    do {
      found.add(sequence());
    } while (take("|"));
    if (!error_ && (is_next('^') || is_next('$'))) refuse("'^' or '$' in the middle");
    if (!error_ && !take(")")) fail(ErrorCode::kContract, "a '(' has no ')'");
    --depth_;
    return {found.joined(), !found.has_empty};
  }

  // Whether `{` begins a number of times.
  [[nodiscard]] bool is_quantifier() const {
    return is_next('{') && rest_.size() > 1 && (is_digit(rest_[1]) || rest_[1] == ',');
  }
  static bool is_digit(char each) { return each >= '0' && each <= '9'; }

  std::string digits() {
    std::string text;
    while (!rest_.empty() && is_digit(rest_[0])) {
      text += rest_[0];
      rest_.remove_prefix(1);
    }
    if (text.size() > 9) refuse("a number of times of over 9 digits");
    return text;
  }

  std::string quantifier() {
    std::string times;
    if (is_next('*') || is_next('+') || is_next('?')) {
      times = rest_[0];
      rest_.remove_prefix(1);
    } else if (is_quantifier()) {
      take("{");
      times = "{" + digits();
      if (times == "{") refuse("'{,'");
      if (take(",")) times += "," + digits();
      times += '}';
      if (!take("}")) fail(ErrorCode::kContract, "a '{' has no '}'");
    } else {
      return {};
    }
    take("?");  // which says what is tried first
    if (is_next('*') || is_next('+') || is_next('?') || is_quantifier())
      refuse("a quantifier of a quantifier");
    return times;
  }

  Characters character_class() {
    const bool is_negated = take("^");
    Characters set;
    if (is_next(']')) refuse("an empty class");
    while (!rest_.empty() && !is_next(']')) {
      Item item = class_item();
      if (is_next('-') && rest_.size() > 1 && rest_[1] != ']') {
        take("-");
        const Item last = class_item();
        if (item.is_one && last.is_one && !error_) {
          if (last.set[0].first < item.set[0].first)
            fail(ErrorCode::kContract, "a range of a class ends before it begins");
          item.set[0].last = last.set[0].last;
        } else {
          set.push_back({U'-', U'-'});
          set.insert(set.end(), last.set.begin(), last.set.end());
        }
      }
      set.insert(set.end(), item.set.begin(), item.set.end());
    }
    if (!take("]")) fail(ErrorCode::kContract, "a '[' has no ']'");
    set = normalised(std::move(set));
    return is_negated ? all_but(set) : set;
  }

  Item class_item() { return take("\\") ? escape(true) : one(take_character()); }

  // What follows a backslash.
  Item escape(bool is_in_class) {
    if (rest_.empty()) {
      fail(ErrorCode::kContract, "the expression ends with a backslash");
      return {};
    }
    const char32_t letter = take_character();
    if (std::optional<Characters> set = class_of(letter)) return {*std::move(set)};
    constexpr std::string_view kLetters = "tnvfr";
    constexpr std::string_view kMeanings = "\t\n\v\f\r";
    if (letter < 0x80) {
      const std::size_t at = kLetters.find(static_cast<char>(letter));
      if (at != std::string_view::npos) return one(static_cast<char32_t>(kMeanings[at]));
    }
    if (letter == U'b' && is_in_class) return one(8);
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

  // \d, \w, \s and their opposites.
  static std::optional<Characters> class_of(char32_t letter) {
    Characters set;
    if (letter == U'd' || letter == U'D') {
      set = {{U'0', U'9'}};
    } else if (letter == U'w' || letter == U'W') {
      set = {{U'0', U'9'}, {U'A', U'Z'}, {U'_', U'_'}, {U'a', U'z'}};
    } else if (letter == U's' || letter == U'S') {
      set = {{U'\t', U'\r'}, {U' ', U' '}};
    } else {
      return std::nullopt;
    }
    return letter < U'a' ? all_but(set) : set;
  }

  // So many hexadecimal digits.
  char32_t code(std::size_t count) {
    const std::string_view text = rest_.substr(0, count);
    if (text.empty() || text.size() < count ||
        text.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      fail(ErrorCode::kContract, "an escape of the expression lacks hexadecimal digits");
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
      const std::size_t end = rest_.find('}');
      value = code(std::min<std::size_t>(end, 7));
      take("}");
    } else {
      value = code(4);
      if (value >= 0xD800 && value < 0xDC00 && take("\\u")) {
        const char32_t low = code(4);
        const bool is_pair = low >= 0xDC00 && low < 0xE000;
        value = is_pair ? 0x10000 + ((value - 0xD800) << 10U) + (low - 0xDC00) : value;
      }
    }
    if (value > kLastCharacter || (value >= 0xD800 && value < 0xE000)) {
      refuse("an escape of what is no character");
      return 0;
    }
    return value;
  }

  std::string_view rest_;
  TextForm form_;
  std::size_t depth_ = 0;
  std::array<Alternatives, 4> found_;  // by what they are bound to
  std::optional<Error> error_;
};

}  // namespace

Result<std::string> written_pattern(std::string_view pattern, TextForm form) {
  const auto check = [](std::string_view what, std::size_t bytes) -> Status {
    if (bytes <= kMaxBytes) return {};
    return Error{ErrorCode::kContract, std::string(what) + " has " + std::to_string(bytes) +
                                           " bytes, and may have " + std::to_string(kMaxBytes)};
  };
  if (const Status size = check("the expression", pattern.size()); !size) return size.error();
  Result<std::string> written = Rewriter(pattern, form).rewritten();
  if (!written) return written;
  const Status size = check("the expression, as it is compiled,", written->size());
  if (!size) return size.error();
  return written;
}

std::string pattern_of_length(const std::string& least, const std::string& most, TextForm form) {
  std::string character;
  if (form == TextForm::kPlain) {
    character = R"([^\u0000-\u0008\u000b\u000c\u000e-\u001f])";
  } else if (form == TextForm::kEither) {
    character = R"([^"\\\u0000-\u001f])";
  } else {
    // A character beyond U+FFFF may be a pair of escapes; half of one is no character.
    character = R"((?:[^"\\\u0000-\u001f]|\\(?:["\\\/bfnrt]|u(?:[0-9a-cA-CefEF][0-9a-fA-F]{3}|)"
                R"([dD][0-7][0-9a-fA-F]{2}|)"
                R"([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))))";
  }
  return character + "{" + least + "," + most + "}";
}

}  // namespace polystate::grammar
