// Translates the syntaxes of Oniguruma, of Rust's fancy-regex and of Python's regex into PCRE2's.
// What has no equal is refused by name, never approximated. The differences that matter for
// tokenizers:
//  - \s is White_Space and \w has marks (PCRE2 has other sets);
//  - Oniguruma: ^ and $ are those of lines, (?m) lets . match a newline, x{n,m}+ repeats x{n,m},
//    and (?i) reaches over the alternatives that follow it. Without regard to case it lets one
//    character equal several, which is refused;
//  - both: without regard to case a property, of Oniguruma's in brackets, is that of the characters
//    that equal one of it, too. Where these are many (\p{Lu}) it is refused;
//  - both: \h is a hexadecimal digit, \v a vertical tab, classes may be nested, and && is what two
//    have in common (in Rust -- is what the first has alone); these bind least;
//  - Python: groups have names, $ matches before a last newline, too, and \Z at the end alone.
// Sources: Oniguruma's doc/RE, docs.rs/fancy-regex, docs.rs/regex, pcre2pattern(3).

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/regex/case_folding.h"
#include "tokenizer/regex/character_class.h"
#include "tokenizer/regex/character_set.h"
#include "tokenizer/regex/pattern_reader.h"
#include "tokenizer/regex/regex.h"

namespace polystate::tokenizer {
namespace {

constexpr std::size_t kMaxGroups = 200;  // groups within groups

// A quantifier in braces.
struct Interval {
  std::string text;  // as PCRE2 writes it
  bool exact;        // {n}
};

// The quantifier that `rest` starts with, {n}, {n,}, {,m} or {n,m}; nothing for a plain brace.
std::optional<Interval> interval_at(std::string_view rest) {
  const std::size_t end = rest.find('}');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = rest.substr(1, end - 1);
  const std::size_t comma = inside.find(',');
  const std::string_view low = inside.substr(0, comma);
  const std::string_view high =
      comma == std::string_view::npos ? std::string_view() : inside.substr(comma + 1);
  const auto is_number = [](std::string_view digits) {
    return std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!is_number(low) || !is_number(high) || (low.empty() && high.empty())) return std::nullopt;
  if (comma == std::string_view::npos) return Interval{"{" + std::string(low) + "}", true};
  return Interval{"{" + (low.empty() ? "0" : std::string(low)) + "," + std::string(high) + "}",
                  false};
}

class Translator {
 public:
  Translator(std::string_view pattern, RegexSyntax syntax)
      : reader_(pattern, syntax), is_python_(syntax == RegexSyntax::kPython) {}

  Result<std::string> translate() {
    while (!reader_.failed() && !reader_.at_end()) element();
    if (groups_.size() > 1) reader_.malformed("a parenthesis is not closed");
    close_flags();
    if (reader_.failed()) return reader_.error();
    return std::move(out_);
  }

 private:
  // An open group of the pattern.
  struct Group {
    std::size_t start;      // where it starts in `out_`
    std::size_t flags = 0;  // groups of ours inside it, opened for (?i)
    bool ignores_case = false;
  };

  // Appends something that a quantifier may follow.
  void atom(std::string_view text) {
    literals_.clear();
    atom_start_ = out_.size();
    out_ += text;
  }
  // Appends something that none may follow.
  void assertion(std::string_view text) {
    literals_.clear();
    atom_start_.reset();
    out_ += text;
  }
  // Appends a character, as `text`.
  void literal(char32_t character, std::string_view text) {
    std::u32string literals = std::exchange(literals_, {});
    const std::string others =
        groups_.back().ignores_case ? newer_cases_of(character, character) : std::string();
    atom(others.empty() ? std::string(text) : "[" + hex_escape(character) + others + "]");
    if (!folds_several()) return;
    literals_ = std::move(literals) + character;
    if (folds_to_several(character) || ends_with_folding(literals_))
      reader_.unsupported("(?i) with a character that has several in the other case");
  }

  // Whether one character may equal several here.
  [[nodiscard]] bool folds_several() const {
    return reader_.oniguruma() && groups_.back().ignores_case;
  }

  void element() {
    switch (const char c = reader_.rest()[0]) {
      case '\\':
        return escape();
      case '[':
        return character_class();
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '|':
        return assertion(reader_.take(1));
      case '*':
      case '+':
      case '?':
        return quantifier(std::string(reader_.take(1)));
      case '{':
        return brace();
      case '^':
      case '$': {
        const std::string anchor(reader_.take(1));
        if (is_python_ && anchor == "$") return assertion(R"((?=\n?\z))");
        return assertion(reader_.oniguruma() ? "(?m:" + anchor + ")" : anchor);
      }
      default:
        return plain(character_size(c));
    }
  }

  // A character of `size` bytes that stands for itself, or the dot.
  void plain(std::size_t size) {
    const std::string_view text = reader_.take(size);
    if (text == ".") return atom(text);
    literal(character_at(text, 0).code_point, text);
  }

  void escape() {
    if (reader_.rest().size() == 1) return reader_.malformed("it ends with a backslash");
    if (const auto set = reader_.escaped_set(true, groups_.back().ignores_case))
      return atom(to_expression(*set, false));
    if (reader_.failed()) return;
    if (reader_.take("\\b")) return assertion(word_boundary());
    if (reader_.take("\\B")) return assertion("(?!" + word_boundary() + ")");
    for (const std::string_view anchor : {"\\A", "\\z", "\\Z"}) {
      if (!reader_.take(anchor)) continue;
      return assertion(is_python_ && anchor == "\\Z" ? std::string_view("\\z") : anchor);
    }
    if (is_python_ && reader_.take("\\G")) return assertion("\\G");
    // The end of a line, of which "\r\n" is one that is never taken apart.
    if (reader_.oniguruma() && reader_.take("\\R")) return atom("\\R");
    if (const auto character = reader_.escaped_character())
      return literal(*character, hex_escape(*character));
    reader_.unsupported(reader_.rest().substr(0, 2));
  }

  [[nodiscard]] std::string word_boundary() const {
    const std::string word = bracketed(reader_.word_set(true), false);
    return "(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))";
  }

  void character_class() {
    reader_.take("[");
    const CharacterClass read = read_character_class(reader_, groups_.back().ignores_case);
    // Oniguruma folds what two classes have in common, PCRE2 each of them.
    if (folds_several() && !read.set.expressions.empty())
      return reader_.unsupported("(?i) with classes that are intersected");
    if (folds_several() && !read.complement && !is_ascii(read.set))
      return reader_.unsupported("(?i) with a class of characters beyond ASCII");
    if (!reader_.failed()) atom(to_expression(read.set, read.complement));
  }

  void open_group() {
    const std::size_t start = reader_.position();
    reader_.take("(");
    if (!reader_.take("?")) return push_group("(?:");
    for (const std::string_view kind : {":", "=", "!", ">", "<=", "<!"}) {
      if (reader_.take(kind)) return push_group("(?" + std::string(kind));
    }
    if (reader_.take("#")) {
      if (!reader_.take_until(")")) reader_.malformed("a comment is not closed");
      return;
    }
    if (reader_.take("<") || (!reader_.oniguruma() && reader_.take("P<"))) {
      const std::optional<std::string_view> name = reader_.take_until(">");
      if (!name) return reader_.malformed("a group's name is not closed");
      // Others have no use for a name.
      return push_group(is_python_ ? "(?P<" + std::string(*name) + ">" : "(?:");
    }
    flags(start);
  }

  void push_group(std::string_view opening) {
    if (groups_.size() > kMaxGroups) return reader_.unsupported("( within ( more than 200 times");
    groups_.push_back({out_.size(), 0, groups_.back().ignores_case});
    assertion(opening);
  }

  // (?i), (?-i), (?i:...): after the question mark. The group starts at `start`.
  void flags(std::size_t start) {
    std::string translated = "(?";
    bool ignores_case = groups_.back().ignores_case;
    bool negative = false;
    while (!reader_.at_end() && !reader_.at(")") && !reader_.at(":")) {
      const char flag = reader_.take(1)[0];
      const bool known =
          flag == '-' || flag == 'i' || flag == 'm' || (flag == 's' && !reader_.oniguruma());
      if (!known) return reader_.unsupported(reader_.since(start));
      if (flag == '-') negative = true;
      if (flag == 'i') ignores_case = !negative;
      translated += flag == 'm' && reader_.oniguruma() ? 's' : flag;
    }
    if (reader_.at_end()) return reader_.malformed("a parenthesis is not closed");
    if (reader_.take(":")) {
      push_group(translated + ":");
      groups_.back().ignores_case = ignores_case;
      return;
    }
    reader_.take(")");
    groups_.back().ignores_case = ignores_case;
    if (reader_.oniguruma()) {
      ++groups_.back().flags;
      return assertion(translated + ":");
    }
    assertion(translated + ")");
  }

  void close_flags() { out_.append(groups_.back().flags, ')'); }

  void close_group() {
    reader_.take(")");
    if (groups_.size() == 1) return reader_.malformed("a parenthesis closes nothing");
    close_flags();
    out_ += ')';
    atom_start_ = groups_.back().start;
    groups_.pop_back();
  }

  // A quantifier, or a character.
  void brace() {
    const auto interval = interval_at(reader_.rest());
    if (!interval) {
      reader_.take("{");
      return atom(R"(\{)");
    }
    reader_.take_until("}");
    const bool repeats_again =
        reader_.oniguruma() && (reader_.at("+") || (interval->exact && reader_.at("?")));
    if (!repeats_again) return quantifier(interval->text);
    if (!atom_start_) return reader_.malformed("a quantifier follows nothing");
    // Here + and ? are quantifiers of their own.
    out_.insert(*atom_start_, "(?:");
    out_ += interval->text + ")";
    assertion(reader_.take(1));
  }

  // `repeat`, which was read, and whether it is possessive or lazy.
  void quantifier(const std::string& repeat) {
    if (!atom_start_) return reader_.malformed("a quantifier follows nothing");
    const bool has_mode = reader_.at("+") || reader_.at("?");
    assertion(repeat);
    if (has_mode) out_ += reader_.take(1);
  }

  PatternReader reader_;
  bool is_python_;
  std::string out_;
  std::optional<std::size_t> atom_start_;  // in `out_`; nothing where no quantifier may follow
  std::vector<Group> groups_ = {{0}};      // the whole pattern is the first
  std::u32string literals_;                // characters just before, where several may equal one
};

}  // namespace

Result<std::string> to_pcre2(std::string_view pattern, RegexSyntax syntax) {
  if (!is_utf8(pattern))
    return Error{ErrorCode::kArtifact, "a regular expression is not valid UTF-8"};
  return Translator(pattern, syntax).translate();
}

}  // namespace polystate::tokenizer
