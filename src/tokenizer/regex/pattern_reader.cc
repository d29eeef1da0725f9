#include "tokenizer/regex/pattern_reader.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/utf8.h"
#include "polystate/core/result.h"
#include "tokenizer/regex/ascii.h"
#include "tokenizer/regex/character_set.h"
#include "tokenizer/regex/regex.h"

namespace polystate::tokenizer {
namespace {

// The control character of \n and the like.
std::optional<char32_t> control_character(char32_t letter) {
  constexpr std::array<std::pair<char32_t, char32_t>, 7> kControls = {
      {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'f', '\f'}, {'v', '\v'}, {'a', '\a'}, {'e', 0x1B}}};
  const auto* const found = std::find_if(kControls.begin(), kControls.end(),
                                         [&](const auto& pair) { return pair.first == letter; });
  if (found == kControls.end()) return std::nullopt;
  return found->second;
}

}  // namespace

void PatternReader::fail(ErrorCode code, const std::string& what) {
  if (!status_) return;
  status_ = Error{code, "the regular expression '" + std::string(pattern_) + "' " + what};
}

void PatternReader::malformed(const std::string& why) {
  fail(ErrorCode::kArtifact, "is not well-formed: " + why);
}

void PatternReader::unsupported(std::string_view what) {
  fail(ErrorCode::kUnsupported, "uses '" + std::string(what) + "', which is not supported");
}

bool PatternReader::take(std::string_view text) {
  if (!at(text)) return false;
  position_ += text.size();
  return true;
}

std::string_view PatternReader::take(std::size_t size) {
  const std::string_view taken = rest().substr(0, size);
  position_ += size;
  return taken;
}

std::optional<std::string_view> PatternReader::take_until(std::string_view end) {
  const std::size_t size = rest().find(end);
  if (size == std::string_view::npos) return std::nullopt;
  const std::string_view taken = take(size);
  position_ += end.size();
  return taken;
}

char32_t PatternReader::take_character() {
  const Utf8Character character = character_at(pattern_, position_);
  position_ += character.size;
  return character.code_point;
}

// The hexadecimal number of up to `most` digits at the position, or in braces.
std::optional<char32_t> PatternReader::hexadecimal(std::size_t most) {
  const bool braces = take("{");
  char32_t value = 0;
  std::size_t digits = 0;
  while (!at_end() && digits < (braces ? 8 : most)) {
    const auto digit = hex_value(rest()[0]);
    if (!digit) break;
    value = value * 16 + *digit;
    ++position_;
    ++digits;
  }
  if (digits == 0 || (braces && !take("}")) || value > 0x10FFFF) return std::nullopt;
  return value;
}

std::optional<char32_t> PatternReader::escaped_character() {
  const std::size_t before = position_++;
  const char32_t character = take_character();
  if (const auto control = control_character(character)) return control;
  std::optional<char32_t> value;
  if (character == 'x' || character == 'u') {
    value = hexadecimal(character == 'x' ? 2 : 4);
  } else if (character >= 0x80 || !is_letter_or_digit(static_cast<char>(character))) {
    value = character;
  }
  if (!value) position_ = before;
  return value;
}

std::string PatternReader::word_set(bool bare) const {
  std::string set(kWordSet);
  if (!oniguruma()) return set.append(kJoiners);
  return bare ? set.append(kLatin1Numbers) : set;
}

void PatternReader::fold(std::string& set, bool complement) {
  auto folded = with_other_cases(set);
  // Oniguruma adds to a complement what equals one of its characters.
  const bool differs = folded && *folded != set;
  if (!folded || (differs && complement && oniguruma()))
    return unsupported("(?i) with a property that not all cases of a character have");
  set = *std::move(folded);
}

std::optional<CharacterSet> PatternReader::escaped_set(bool bare, bool ignores_case) {
  const char letter = rest()[1];
  std::string set;
  switch (to_lower(letter)) {
    case 's':
      set = kSpaceSet;
      break;
    case 'd':
      set = kDigitSet;
      break;
    case 'w':
      set = word_set(bare);
      break;
    case 'h':
      if (syntax_ == RegexSyntax::kPython) {
        unsupported("\\h");
        return std::nullopt;
      }
      set = kHexDigitSet;
      break;
    case 'p':
      return property(ignores_case && !(bare && oniguruma()));
    default:
      return std::nullopt;
  }
  position_ += 2;
  if (letter == to_lower(letter)) return CharacterSet{set};
  return CharacterSet{{}, {set}};
}

// \p{name}, \P{name}, \p{^name}, \pL.
std::optional<CharacterSet> PatternReader::property(bool folds) {
  const std::size_t start = position_;
  bool complement = take(2) == "\\P";
  auto name = property_name();
  if (!name) return std::nullopt;
  if (name->starts_with("^")) {
    complement = !complement;
    name->remove_prefix(1);
  }
  if (const auto left = left_by(*name))
    return complement ? CharacterSet{*left} : CharacterSet{{}, {*left}};
  auto set = named_set(*name);
  if (!set) {
    unsupported(since(start));
    return std::nullopt;
  }
  if (folds) fold(*set, complement);
  if (complement) return CharacterSet{{}, {*set}};
  return CharacterSet{*set};
}

// The name after \p or \P, empty where none stands there; nothing after an error.
std::optional<std::string_view> PatternReader::property_name() {
  if (take("{")) {
    const auto name = take_until("}");
    if (!name) malformed("a brace is not closed");
    return name;
  }
  if (oniguruma() || at_end()) return std::string_view();
  return take(1);
}

}  // namespace polystate::tokenizer
