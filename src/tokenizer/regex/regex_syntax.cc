// Translates the syntaxes of Oniguruma and of Rust's fancy-regex into PCRE2's. What has no equal is
// refused by name, never approximated. The differences that matter for tokenizers:
//  - \s is White_Space and \w has marks (PCRE2 has other sets);
//  - Oniguruma: ^ and $ are those of lines, (?m) lets . match a newline, x{n,m}+ repeats x{n,m},
//  and
//    (?i) reaches over the alternatives that follow it;
//  - both: \h is a hexadecimal digit, \v a vertical tab, classes may be nested.
// Sources: Oniguruma's doc/RE, docs.rs/fancy-regex, docs.rs/regex, pcre2pattern(3).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/regex/regex.h"

namespace polystate::tokenizer {
namespace {

// Sets of characters, as they are written between PCRE2's brackets.
constexpr std::string_view kSpace = R"(\t-\r\x{85}\p{Z})";
constexpr std::string_view kHexDigit = "0-9A-Fa-f";
constexpr std::string_view kWord = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
// What \w and \b take for words beyond that: Oniguruma's (outside classes), and Rust's.
constexpr std::string_view kLatin1Numbers = R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
constexpr std::string_view kJoiners = R"(\x{200C}\x{200D})";

struct Named {
  std::string_view name;  // lower case, without spaces, hyphens and underscores
  std::string_view set;
};

// Names beyond those that PCRE2 knows itself.
constexpr std::array<Named, 32> kNamedSets = {{
    {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"alpha", R"(\p{Alphabetic})"},
    {"blank", R"(\t\p{Zs})"},
    {"cntrl", R"(\p{Cc})"},
    {"digit", R"(\p{Nd})"},
    {"lower", R"(\p{Lowercase})"},
    {"space", kSpace},
    {"upper", R"(\p{Uppercase})"},
    {"xdigit", kHexDigit},
    {"punct", R"(\p{P})"},
    {"letter", R"(\p{L})"},
    {"uppercaseletter", R"(\p{Lu})"},
    {"lowercaseletter", R"(\p{Ll})"},
    {"titlecaseletter", R"(\p{Lt})"},
    {"modifierletter", R"(\p{Lm})"},
    {"otherletter", R"(\p{Lo})"},
    {"mark", R"(\p{M})"},
    {"nonspacingmark", R"(\p{Mn})"},
    {"spacingmark", R"(\p{Mc})"},
    {"enclosingmark", R"(\p{Me})"},
    {"number", R"(\p{N})"},
    {"decimalnumber", R"(\p{Nd})"},
    {"letternumber", R"(\p{Nl})"},
    {"othernumber", R"(\p{No})"},
    {"punctuation", R"(\p{P})"},
    {"symbol", R"(\p{S})"},
    {"separator", R"(\p{Z})"},
    {"spaceseparator", R"(\p{Zs})"},
    {"other", R"(\p{C})"},
    {"control", R"(\p{Cc})"},
    {"format", R"(\p{Cf})"},
    {"any", R"(\x{0}-\x{10FFFF})"},
}};

// Names that PCRE2 knows and that are neither general categories nor scripts. It takes a script's
// bare name for its extension.
constexpr std::array<std::string_view, 9> kBinaryProperties = {"alphabetic",
                                                               "emoji",
                                                               "emojimodifier",
                                                               "emojipresentation",
                                                               "extendedpictographic",
                                                               "emojimodifierbase",
                                                               "ideographic",
                                                               "lowercase",
                                                               "uppercase"};

bool is_letter_or_digit(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::optional<unsigned> hex_value(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::string hex_escape(char32_t code_point) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string digits;
  do {
    digits += kDigits[code_point % 16];
    code_point /= 16;
  } while (code_point != 0);
  std::reverse(digits.begin(), digits.end());
  return R"(\x{)" + digits + "}";
}

// A set of characters: `positive`, united with the complement of each of `negative`.
struct CharacterSet {
  std::string positive;
  std::vector<std::string> negative;
};

std::string bracketed(std::string_view set, bool complement) {
  return (complement ? "[^" : "[") + std::string(set) + "]";
}

// An expression that matches one character of the set, or of its complement.
std::string to_expression(const CharacterSet& set, bool complement) {
  if (set.negative.empty()) return bracketed(set.positive, complement);
  if (set.positive.empty() && set.negative.size() == 1)
    return bracketed(set.negative[0], !complement);
  std::string expression = "(?:";
  if (complement) {
    if (!set.positive.empty()) expression += "(?!" + bracketed(set.positive, false) + ")";
    for (std::size_t i = 1; i < set.negative.size(); ++i)
      expression += "(?=" + bracketed(set.negative[i], false) + ")";
    expression += bracketed(set.negative[0], false);
  } else {
    if (!set.positive.empty()) expression += bracketed(set.positive, false) + "|";
    for (const std::string& negative : set.negative) expression += bracketed(negative, true) + "|";
    expression.pop_back();
  }
  return expression + ")";
}

class Translator {
 public:
  Translator(std::string_view pattern, RegexSyntax syntax) : pattern_(pattern), syntax_(syntax) {}

  Result<std::string> translate() {
    while (!failed_ && position_ < pattern_.size()) element();
    if (!failed_ && groups_.size() > 1) malformed("a parenthesis is not closed");
    close_flags();
    if (failed_) return *failed_;
    return std::move(out_);
  }

 private:
  // An open group of the pattern.
  struct Group {
    std::size_t start;      // where it starts in `out_`
    std::size_t flags = 0;  // groups of ours inside it, opened for (?i)
  };

  bool oniguruma() const { return syntax_ == RegexSyntax::kOniguruma; }
  bool at_end() const { return position_ >= pattern_.size(); }
  bool at(std::string_view text) const { return pattern_.substr(position_).starts_with(text); }
  bool take(std::string_view text) {
    if (!at(text)) return false;
    position_ += text.size();
    return true;
  }

  void fail(ErrorCode code, const std::string& what) {
    if (failed_) return;
    failed_ = Error{code, "the regular expression '" + std::string(pattern_) + "' " + what};
  }
  void malformed(const std::string& why) {
    fail(ErrorCode::kArtifact, "is not well-formed: " + why);
  }
  void unsupported(std::string_view what) {
    fail(ErrorCode::kUnsupported, "uses '" + std::string(what) + "', which is not supported");
  }

  // Appends something that a quantifier may follow.
  void atom(std::string_view text) {
    atom_start_ = out_.size();
    out_ += text;
  }
  // Appends something that none may follow.
  void assertion(std::string_view text) {
    atom_start_.reset();
    out_ += text;
  }

  void element() {
    const char c = pattern_[position_];
    switch (c) {
      case '\\':
        return escape();
      case '[':
        return character_class();
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '|':
        ++position_;
        return assertion("|");
      case '*':
      case '+':
      case '?':
      case '{':
        return quantifier();
      case '^':
        ++position_;
        return assertion(oniguruma() ? "(?m:^)" : "^");
      case '$':
        ++position_;
        return assertion(oniguruma() ? "(?m:$)" : "$");
      default:
        break;
    }
    const std::size_t size = character_size(c);
    atom(pattern_.substr(position_, size));
    position_ += size;
  }

  // The hexadecimal number of up to `most` digits at the position, or in braces.
  std::optional<char32_t> hexadecimal(std::size_t most) {
    const bool braces = take("{");
    char32_t value = 0;
    std::size_t digits = 0;
    while (!at_end() && digits < (braces ? 8 : most)) {
      const auto digit = hex_value(pattern_[position_]);
      if (!digit) break;
      value = value * 16 + *digit;
      ++position_;
      ++digits;
    }
    if (digits == 0 || (braces && !take("}")) || value > 0x10FFFF) return std::nullopt;
    return value;
  }

  // The character that an escape stands for, which starts after the backslash; nothing, and the
  // position as it was, where it stands for something else.
  std::optional<char32_t> escaped_character() {
    const Utf8Character character = character_at(pattern_, position_);
    const auto simple = [&](char32_t code_point) {
      position_ += character.size;
      return code_point;
    };
    switch (character.code_point) {
      case 'n':
        return simple('\n');
      case 't':
        return simple('\t');
      case 'r':
        return simple('\r');
      case 'f':
        return simple('\f');
      case 'v':
        return simple('\v');
      case 'a':
        return simple('\a');
      case 'e':
        return simple(0x1B);
      case 'x':
      case 'u': {
        const std::size_t before = position_++;
        const auto value = hexadecimal(pattern_[before] == 'x' ? 2 : 4);
        if (!value) position_ = before;
        return value;
      }
      default:
        break;
    }
    if (character.code_point < 0x80 && is_letter_or_digit(static_cast<char>(character.code_point)))
      return std::nullopt;
    return simple(character.code_point);
  }

  // The set of \w, `bare` or in a class.
  std::string word_set(bool bare) const {
    std::string set(kWord);
    if (!oniguruma()) return set.append(kJoiners);
    return bare ? set.append(kLatin1Numbers) : set;
  }

  // The set of \s, \d, \w, \h, \p{...} or a complement, after the backslash.
  std::optional<CharacterSet> escaped_set(bool bare) {
    const char letter = pattern_[position_];
    const char lower = static_cast<char>(letter | 0x20);
    std::string set;
    switch (lower) {
      case 's':
        set = kSpace;
        break;
      case 'd':
        set = R"(\p{Nd})";
        break;
      case 'w':
        set = word_set(bare);
        break;
      case 'h':
        set = kHexDigit;
        break;
      case 'p':
        return property();
      default:
        return std::nullopt;
    }
    ++position_;
    if (letter == lower) return CharacterSet{set, {}};
    return CharacterSet{{}, {set}};
  }

  // \p{name}, \P{name}, \p{^name}, \pL.
  std::optional<CharacterSet> property() {
    const std::size_t start = position_;
    bool complement = pattern_[position_++] == 'P';
    std::string_view name;
    if (take("{")) {
      const std::size_t end = pattern_.find('}', position_);
      if (end == std::string_view::npos) {
        malformed("a brace is not closed");
        return std::nullopt;
      }
      name = pattern_.substr(position_, end - position_);
      position_ = end + 1;
    } else if (!oniguruma() && !at_end()) {
      name = pattern_.substr(position_++, 1);
    }
    if (name.starts_with("^")) {
      complement = !complement;
      name.remove_prefix(1);
    }
    const auto set = named_set(name);
    if (!set) {
      unsupported("\\" + std::string(pattern_.substr(start, position_ - start)));
      return std::nullopt;
    }
    if (complement) return CharacterSet{{}, {*set}};
    return CharacterSet{*set, {}};
  }

  static std::optional<std::string> named_set(std::string_view name) {
    std::string key;
    for (const char c : name) {
      if (c == ' ' || c == '-' || c == '_') continue;
      if (!is_letter_or_digit(c)) return std::nullopt;
      key += static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    const auto* const found = std::find_if(kNamedSets.begin(), kNamedSets.end(),
                                           [&](const Named& named) { return named.name == key; });
    if (found != kNamedSets.end()) return std::string(found->set);
    if (key.empty()) return std::nullopt;
    const bool is_property =
        key.size() <= 2 || std::find(kBinaryProperties.begin(), kBinaryProperties.end(), key) !=
                               kBinaryProperties.end();
    return (is_property ? R"(\p{)" : R"(\p{sc:)") + std::string(name) + "}";
  }

  void escape() {
    const std::size_t start = position_++;
    if (at_end()) return malformed("it ends with a backslash");
    if (const auto set = escaped_set(true)) return atom(to_expression(*set, false));
    if (failed_) return;
    const char letter = pattern_[position_];
    if (letter == 'b' || letter == 'B') {
      ++position_;
      const std::string word = bracketed(word_set(true), false);
      const std::string boundary =
          "(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))";
      return assertion(letter == 'b' ? boundary : "(?!" + boundary + ")");
    }
    if (letter == 'A' || letter == 'z' || letter == 'Z') {
      ++position_;
      return assertion(pattern_.substr(start, 2));
    }
    if (const auto code_point = escaped_character()) return atom(hex_escape(*code_point));
    unsupported(pattern_.substr(start, 2));
  }

  void character_class() {
    ++position_;
    const bool complement = take("^");
    CharacterSet set;
    class_items(set, 0);
    if (!failed_) atom(to_expression(set, complement));
  }

  // Reads items up to and with the closing bracket.
  void class_items(CharacterSet& set, int depth) {
    if (depth > 8) return unsupported("[ within [ more than eight times");
    bool first = true;
    while (!failed_) {
      if (at_end()) return malformed("a bracket is not closed");
      if (at("]") && !first) {
        ++position_;
        return;
      }
      first = false;
      class_item(set, depth);
    }
  }

  void class_item(CharacterSet& set, int depth) {
    if (take("[:")) return posix_class(set);
    if (at("&&") || (!oniguruma() && (at("--") || at("~~")))) {
      return unsupported(pattern_.substr(position_, 2));
    }
    if (take("[")) {
      const bool complement = take("^");
      CharacterSet inner;
      class_items(inner, depth + 1);
      if (complement && !inner.negative.empty()) return unsupported("a complement in a complement");
      if (complement) {
        set.negative.push_back(std::move(inner.positive));
      } else {
        unite(set, inner);
      }
      return;
    }
    if (at("\\") && position_ + 1 < pattern_.size()) {
      ++position_;
      if (const auto named = escaped_set(false)) return unite(set, *named);
      --position_;
      if (failed_) return;
    }
    const auto low = class_character();
    if (!low) return;
    set.positive += hex_escape(*low);
    if (!at("-") || position_ + 1 >= pattern_.size() || pattern_[position_ + 1] == ']') return;
    ++position_;
    if (at("[") || at("\\p") || at("\\s") || at("\\d") || at("\\w")) {
      set.positive += hex_escape('-');
      return;
    }
    const auto high = class_character();
    if (!high) return;
    if (*high < *low) return malformed("a range goes backwards");
    set.positive += "-" + hex_escape(*high);
  }

  static void unite(CharacterSet& set, const CharacterSet& other) {
    set.positive += other.positive;
    set.negative.insert(set.negative.end(), other.negative.begin(), other.negative.end());
  }

  // One character of a class, plain or escaped.
  std::optional<char32_t> class_character() {
    const std::size_t start = position_;
    if (take("\\")) {
      if (at_end()) {
        malformed("it ends with a backslash");
        return std::nullopt;
      }
      if (take("b")) return 8;
      const auto code_point = escaped_character();
      if (!code_point) unsupported(pattern_.substr(start, 2));
      return code_point;
    }
    const Utf8Character character = character_at(pattern_, position_);
    position_ += character.size;
    return character.code_point;
  }

  // Rust's are those of ASCII, which no tokenizer asks for.
  std::optional<std::string> posix_set(std::string_view name) const {
    constexpr std::array<std::string_view, 9> kNames = {"alnum", "alpha", "blank", "cntrl", "digit",
                                                        "lower", "space", "upper", "xdigit"};
    if (!oniguruma()) return std::nullopt;
    if (name == "word") return std::string(kWord);
    if (name == "punct") return R"(\p{P}\p{S})";
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) return std::nullopt;
    return named_set(name);
  }

  // [:name:] or [:^name:], after its "[:".
  void posix_class(CharacterSet& set) {
    const bool complement = take("^");
    const std::size_t end = pattern_.find(":]", position_);
    if (end == std::string_view::npos) return malformed("a '[:' is not closed");
    const std::string_view name = pattern_.substr(position_, end - position_);
    const auto named = posix_set(name);
    if (!named) return unsupported("[:" + std::string(name) + ":]");
    position_ = end + 2;
    if (complement) {
      set.negative.push_back(*named);
    } else {
      set.positive += *named;
    }
  }

  void open_group() {
    const std::size_t start = position_++;
    const std::size_t output = out_.size();
    if (!take("?")) return push_group(output, "(?:");
    for (const std::string_view kind : {":", "=", "!", ">", "<=", "<!"}) {
      if (take(kind)) return push_group(output, "(?" + std::string(kind));
    }
    if (take("#")) {
      const std::size_t end = pattern_.find(')', position_);
      if (end == std::string_view::npos) return malformed("a comment is not closed");
      position_ = end + 1;
      return;
    }
    if (take("<") || (!oniguruma() && take("P<"))) {  // a name, for which there is no use
      const std::size_t end = pattern_.find('>', position_);
      if (end == std::string_view::npos) return malformed("a group's name is not closed");
      position_ = end + 1;
      return push_group(output, "(?:");
    }
    flags(start, output);
  }

  void push_group(std::size_t output, std::string_view opening) {
    if (groups_.size() > 200) return unsupported("( within ( more than 200 times");
    groups_.push_back({output});
    assertion(opening);
  }

  // (?i), (?-i), (?i:...): after the question mark.
  void flags(std::size_t start, std::size_t output) {
    std::string translated = "(?";
    while (!at_end() && !at(")") && !at(":")) {
      const char flag = pattern_[position_++];
      const bool known = flag == '-' || flag == 'i' || flag == 'm' || (flag == 's' && !oniguruma());
      if (!known) return unsupported(pattern_.substr(start, position_ - start));
      translated += flag == 'm' && oniguruma() ? 's' : flag;
    }
    if (at_end()) return malformed("a parenthesis is not closed");
    if (take(":")) return push_group(output, translated + ":");
    ++position_;
    if (oniguruma()) {
      ++groups_.back().flags;
      return assertion(translated + ":");
    }
    assertion(translated + ")");
  }

  void close_flags() { out_.append(groups_.back().flags, ')'); }

  void close_group() {
    ++position_;
    if (groups_.size() == 1) return malformed("a parenthesis closes nothing");
    close_flags();
    out_ += ')';
    atom_start_ = groups_.back().start;
    groups_.pop_back();
  }

  // {n}, {n,}, {,m} or {n,m}, as PCRE2 writes it; nothing for a plain brace.
  std::optional<std::string> interval(bool& exact) const {
    const std::size_t end = pattern_.find('}', position_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view inside = pattern_.substr(position_ + 1, end - position_ - 1);
    const std::size_t comma = inside.find(',');
    const std::string_view low = inside.substr(0, comma);
    const std::string_view high =
        comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
    const auto is_number = [](std::string_view digits) {
      return std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
    };
    if (!is_number(low) || !is_number(high) || (low.empty() && high.empty())) return std::nullopt;
    exact = comma == std::string_view::npos;
    if (exact) return "{" + std::string(low) + "}";
    return "{" + (low.empty() ? "0" : std::string(low)) + "," + std::string(high) + "}";
  }

  void quantifier() {
    std::string repeat(1, pattern_[position_]);
    bool exact = false;
    const bool is_interval = repeat == "{";
    if (is_interval) {
      const auto found = interval(exact);
      if (!found) {
        ++position_;
        return atom(R"(\{)");
      }
      repeat = *found;
      position_ = pattern_.find('}', position_);
    }
    ++position_;
    if (!atom_start_) return malformed("a quantifier follows nothing");
    out_ += repeat;
    if (is_interval && oniguruma() && (at("+") || (exact && at("?")))) {
      // Here + and ? are quantifiers of their own.
      out_.insert(*atom_start_, "(?:");
      out_ += ')';
      out_ += pattern_[position_++];
      atom_start_.reset();
      return;
    }
    if (at("+") || at("?")) out_ += pattern_[position_++];
    atom_start_.reset();
  }

  std::string_view pattern_;
  RegexSyntax syntax_;
  std::size_t position_ = 0;
  std::string out_;
  std::optional<std::size_t> atom_start_;  // in `out_`; nothing where no quantifier may follow
  std::vector<Group> groups_ = {{0}};      // the whole pattern is the first
  std::optional<Error> failed_;
};

}  // namespace

Result<std::string> to_pcre2(std::string_view pattern, RegexSyntax syntax) {
  if (valid_prefix(pattern) != pattern.size()) {
    return Error{ErrorCode::kArtifact, "a regular expression is not valid UTF-8"};
  }
  return Translator(pattern, syntax).translate();
}

}  // namespace polystate::tokenizer
