#include "tokenizer/regex/character_class.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tokenizer/regex/character_set.h"
#include "tokenizer/regex/pattern_reader.h"

namespace polystate::tokenizer {
namespace {

constexpr int kMaxBrackets = 8;  // brackets within the outermost

class ClassReader {
 public:
  explicit ClassReader(PatternReader& reader) : reader_(reader) {}

  // Reads items up to and with the closing bracket.
  void items(CharacterSet& set, int depth) {
    if (depth > kMaxBrackets) return reader_.unsupported("[ within [ more than eight times");
    bool first = true;
    while (!reader_.failed()) {
      if (reader_.at_end()) return reader_.malformed("a bracket is not closed");
      if (!first && reader_.take("]")) return;
      first = false;
      item(set, depth);
    }
  }

 private:
  void item(CharacterSet& set, int depth) {
    if (reader_.take("[:")) return posix_class(set);
    if (at_set_operator()) return reader_.unsupported(reader_.rest().substr(0, 2));
    if (reader_.take("[")) return nested(set, depth);
    if (reader_.at("\\") && reader_.rest().size() > 1) {
      if (const auto escaped = reader_.escaped_set(false)) return unite(set, *escaped);
      if (reader_.failed()) return;
    }
    range(set);
  }

  [[nodiscard]] bool at_set_operator() const {
    return reader_.at("&&") || (!reader_.oniguruma() && (reader_.at("--") || reader_.at("~~")));
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
    if (complement) {
      set.negative.push_back(std::move(*named));
    } else {
      set.positive += *named;
    }
  }

  // A class in a class, after its bracket.
  void nested(CharacterSet& set, int depth) {
    const bool complement = reader_.take("^");
    CharacterSet inner;
    items(inner, depth + 1);
    if (!complement) return unite(set, inner);
    if (!inner.negative.empty()) return reader_.unsupported("a complement in a complement");
    set.negative.push_back(std::move(inner.positive));
  }

  // A character, or a range of them.
  void range(CharacterSet& set) {
    const auto low = character();
    if (!low) return;
    set.positive += hex_escape(*low);
    if (!reader_.at("-") || reader_.rest().size() == 1 || reader_.at("-]")) return;
    reader_.take("-");
    constexpr std::array<std::string_view, 5> kSets = {"[", "\\p", "\\s", "\\d", "\\w"};
    if (std::any_of(kSets.begin(), kSets.end(),
                    [&](std::string_view start) { return reader_.at(start); })) {
      set.positive += hex_escape('-');
      return;
    }
    const auto high = character();
    if (!high) return;
    if (*high < *low) return reader_.malformed("a range goes backwards");
    set.positive += "-" + hex_escape(*high);
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
};

}  // namespace

CharacterClass read_character_class(PatternReader& reader) {
  CharacterClass read;
  read.complement = reader.take("^");
  ClassReader(reader).items(read.set, 0);
  return read;
}

}  // namespace polystate::tokenizer
