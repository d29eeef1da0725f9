#include "tokenizer/regex/character_class.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizer/regex/character_set.h"
#include "tokenizer/regex/pattern_reader.h"
#include "tokenizer/regex/regex.h"

namespace polystate::tokenizer {
namespace {

constexpr int kMaxBrackets = 8;  // brackets within the outermost

class ClassReader {
 public:
  ClassReader(PatternReader& reader, bool ignores_case)
      : reader_(reader), ignores_case_(ignores_case) {}

  // Reads items, and operators between groups of them, up to and with the closing bracket. Of
  // several operators the first comes first.
  void items(CharacterSet& set, int depth) {
    if (depth > kMaxBrackets) return reader_.unsupported("[ within [ more than eight times");
    CharacterSet left;             // what is before the last operator
    Operation operation = united;  // of `left` and `set`
    hyphens(set);
    bool first = set.positive.empty();
    while (!reader_.failed()) {
      if (reader_.at_end()) return reader_.malformed("a bracket is not closed");
      if (!first && reader_.take("]")) break;
      first = false;
      if (const Operation next = take_operation()) {
        left = operation(left, set);
        set = CharacterSet();
        operation = next;
      } else {
        item(set, depth);
      }
    }
    set = operation(left, set);
  }

 private:
  using Operation = CharacterSet (*)(const CharacterSet& a, const CharacterSet& b);

  static CharacterSet united(const CharacterSet& a, const CharacterSet& b) {
    CharacterSet both = a;
    unite(both, b);
    return both;
  }

  // An operator, which binds less than one item after another does; null where none comes.
  Operation take_operation() {
    if (reader_.syntax() == RegexSyntax::kPython) return nullptr;
    if (reader_.take("&&")) return intersection;
    if (!reader_.oniguruma() && reader_.take("--")) return difference;
    return nullptr;
  }

  // At the beginning of a class, hyphens stand for themselves in Rust.
  void hyphens(CharacterSet& set) {
    if (reader_.syntax() != RegexSyntax::kFancyRegex) return;
    while (reader_.take("-")) set.positive += hex_escape('-');
  }

  void item(CharacterSet& set, int depth) {
    if (reader_.take("[:")) return posix_class(set);
    if (at_other_operator()) return reader_.unsupported(reader_.rest().substr(0, 2));
    if (reader_.take("[")) return nested(set, depth);
    if (reader_.at("\\") && reader_.rest().size() > 1) {
      if (const auto escaped = reader_.escaped_set(false, ignores_case_))
        return unite(set, *escaped);
      if (reader_.failed()) return;
    }
    range(set);
  }

  // Whether an operator comes that take_operation does not know.
  [[nodiscard]] bool at_other_operator() const {
    if (reader_.oniguruma()) return false;
    return reader_.at("~~") || reader_.at("&&") || reader_.at("--");
  }

  // Rust's are those of ASCII, which no tokenizer asks for.
  [[nodiscard]] std::optional<std::string> posix_set(std::string_view name) const {
    constexpr std::array<std::string_view, 9> kNames = {"alnum", "alpha", "blank", "cntrl", "digit",
                                                        "lower", "space", "upper", "xdigit"};
    if (!reader_.oniguruma()) return std::nullopt;
    if (name == "word") return std::string(kWordSet);
    if (name == "punct") return R"(\p{P}\p{S})";
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) return std::nullopt;
    return named_set(name);
  }

  // [:name:] or [:^name:], after its "[:".
  void posix_class(CharacterSet& set) {
    const bool complement = reader_.take("^");
    const auto name = reader_.take_until(":]");
    if (!name) return reader_.malformed("a '[:' is not closed");
    auto named = posix_set(*name);
    if (!named) return reader_.unsupported("[:" + std::string(*name) + ":]");
    if (ignores_case_) reader_.fold(*named, complement);
    if (complement) {
      set.negative.push_back(std::move(*named));
    } else {
      set.positive += *named;
    }
  }

  // A class in a class, after its bracket.
  void nested(CharacterSet& set, int depth) {
    const bool complement = reader_.take("^");
    // Oniguruma adds to it what equals one of its characters, PCRE2 takes that away.
    if (complement && ignores_case_ && reader_.oniguruma())
      return reader_.unsupported("(?i) with a complement within a class");
    CharacterSet inner;
    items(inner, depth + 1);
    if (!complement) return unite(set, inner);
    if (inner.negative.empty() && inner.expressions.empty() && !inner.positive.empty()) {
      set.negative.push_back(std::move(inner.positive));
    } else if (!reader_.failed()) {
      set.expressions.push_back(to_expression(inner, true));
    }
  }

  // A character, or a range of them.
  void range(CharacterSet& set) {
    const auto low = character();
    if (!low) return;
    if (!at_hyphen_of_range()) return put(set, *low, *low);
    reader_.take("-");
    constexpr std::array<std::string_view, 5> kSets = {"[", "\\p", "\\s", "\\d", "\\w"};
    if (std::any_of(kSets.begin(), kSets.end(),
                    [&](std::string_view start) { return reader_.at(start); })) {
      put(set, *low, *low);
      set.positive += hex_escape('-');
      return;
    }
    const auto high = character();
    if (!high) return;
    if (*high < *low) return reader_.malformed("a range goes backwards");
    put(set, *low, *high);
  }

  [[nodiscard]] bool at_hyphen_of_range() const {
    if (!reader_.at("-") || reader_.rest().size() == 1 || reader_.at("-]")) return false;
    // A hyphen before `&&`, or one of the two of `--`, begins no range.
    if (reader_.oniguruma() && reader_.at("-&&")) return false;
    return reader_.syntax() != RegexSyntax::kFancyRegex || !reader_.at("--");
  }

  void put(CharacterSet& set, char32_t first, char32_t last) const {
    set.positive += hex_escape(first);
    if (last != first) set.positive += "-" + hex_escape(last);
    if (ignores_case_) set.positive += newer_cases_of(first, last);
  }

  // One character, plain or escaped.
  std::optional<char32_t> character() {
    if (!reader_.at("\\")) return reader_.take_character();
    if (reader_.rest().size() == 1) {
      reader_.malformed("it ends with a backslash");
      return std::nullopt;
    }
    if (reader_.take("\\b")) return U'\b';
    const auto code_point = reader_.escaped_character();
    if (!code_point) reader_.unsupported(reader_.rest().substr(0, 2));
    return code_point;
  }

  PatternReader& reader_;
  bool ignores_case_;
};

}  // namespace

CharacterClass read_character_class(PatternReader& reader, bool ignores_case) {
  CharacterClass read;
  read.complement = reader.take("^");
  ClassReader(reader, ignores_case).items(read.set, 0);
  return read;
}

}  // namespace polystate::tokenizer
