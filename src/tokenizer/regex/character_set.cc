#include "tokenizer/regex/character_set.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/regex/ascii.h"
#include "tokenizer/regex/newer_characters.h"

namespace polystate::tokenizer {
namespace {

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
    {"space", kSpaceSet},
    {"upper", R"(\p{Uppercase})"},
    {"xdigit", kHexDigitSet},
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

// One character of none, and of all.
constexpr std::string_view kNoCharacter = R"([^\x{0}-\x{10FFFF}])";
constexpr std::string_view kAnyCharacter = R"([\x{0}-\x{10FFFF}])";

constexpr std::string_view kProperty = R"(\p{)";
constexpr std::string_view kScript = "sc:";

// A property's name as the tables have it; nothing where it cannot be one.
std::optional<std::string> key_of(std::string_view name) {
  std::string key;
  for (const char c : name) {
    if (c == ' ' || c == '-' || c == '_') continue;
    if (!is_letter_or_digit(c)) return std::nullopt;
    key += to_lower(c);
  }
  return key;
}

// Calls visit(key) for each \p{name} in a set.
template <typename Visit>
void for_each_property(std::string_view set, Visit&& visit) {
  for (std::size_t at = set.find(kProperty); at != std::string_view::npos;
       at = set.find(kProperty, at + 1)) {
    std::string_view name = set.substr(at + kProperty.size());
    name = name.substr(0, name.find('}'));
    if (name.starts_with(kScript)) name.remove_prefix(kScript.size());
    visit(key_of(name).value_or(""));
  }
}

const NewerCharacters* find_newer(std::string_view key) {
  const auto all = newer_characters();
  const auto found = std::ranges::find(all, key, &NewerCharacters::property);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string> left_by(std::string_view name) {
  const std::optional<std::string> key = key_of(name);
  if (key == "c" || key == "other")
    return std::string(R"(\P{C})").append(find_newer("not c")->characters);
  if (key == "cn" || key == "unassigned")
    return std::string(R"(\P{Cn})").append(find_newer("not cn")->characters);
  return std::nullopt;
}

std::optional<std::string> named_set(std::string_view name) {
  const std::optional<std::string> found_key = key_of(name);
  if (!found_key) return std::nullopt;
  const std::string& key = *found_key;
  const auto* const found = std::find_if(kNamedSets.begin(), kNamedSets.end(),
                                         [&](const Named& named) { return named.name == key; });
  if (found != kNamedSets.end()) return std::string(found->set);
  if (key.empty()) return std::nullopt;
  const NewerCharacters* const newer = find_newer(key);
  if (newer != nullptr && newer->is_new) return std::string(newer->characters);
  const bool is_property =
      key.size() <= 2 ||
      std::find(kBinaryProperties.begin(), kBinaryProperties.end(), key) != kBinaryProperties.end();
  return std::string(kProperty).append(is_property ? "" : kScript).append(name) + "}";
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

std::string newer_cases_of(char32_t first, char32_t last) {
  std::string set;
  const auto cases = newer_cases();
  for (auto each = std::ranges::lower_bound(cases, first, {}, &NewerCase::character);
       each != cases.end() && each->character <= last; ++each)
    set += hex_escape(each->other);
  return set;
}

std::optional<std::string> with_other_cases(std::string_view set) {
  std::string whole(set);
  bool complete = true;
  for_each_property(set, [&](const std::string& key) {
    const auto all = other_cases();
    const auto found = std::ranges::find(all, key, &OtherCases::property);
    if (found == all.end()) return;
    complete = complete && !found->characters.empty();
    whole += found->characters;
  });
  if (!complete) return std::nullopt;
  return whole;
}

bool is_ascii(const CharacterSet& set) {
  constexpr std::string_view kEscape = R"(\x{)";
  if (!set.negative.empty() || !set.expressions.empty()) return false;
  if (set.positive.find(R"(\p)") != std::string::npos) return false;
  for (std::size_t at = set.positive.find(kEscape); at != std::string::npos;
       at = set.positive.find(kEscape, at + 1)) {
    const std::size_t digits = set.positive.find('}', at) - at - kEscape.size();
    if (digits > 2 || (digits == 2 && set.positive[at + kEscape.size()] > '7')) return false;
  }
  return true;
}

void unite(CharacterSet& set, const CharacterSet& other) {
  set.positive += other.positive;
  set.negative.insert(set.negative.end(), other.negative.begin(), other.negative.end());
  set.expressions.insert(set.expressions.end(), other.expressions.begin(), other.expressions.end());
}

CharacterSet intersection(const CharacterSet& a, const CharacterSet& b) {
  return {{}, {}, {"(?:(?=" + to_expression(b, false) + ")" + to_expression(a, false) + ")"}};
}

CharacterSet difference(const CharacterSet& a, const CharacterSet& b) {
  return {{}, {}, {"(?:(?!" + to_expression(b, false) + ")" + to_expression(a, false) + ")"}};
}

std::string bracketed(std::string_view set, bool complement) {
  std::string whole(complement ? "[^" : "[");
  whole += set;
  for_each_property(set, [&](const std::string& key) {
    const NewerCharacters* const newer = find_newer(key);
    if (newer != nullptr) whole += newer->characters;
  });
  return whole + "]";
}

namespace {

// An expression for what is in none of the set's parts.
std::string others_than(const CharacterSet& set) {
  std::string expression = "(?:";
  if (!set.positive.empty()) expression += "(?!" + bracketed(set.positive, false) + ")";
  for (const std::string& each : set.expressions) expression += "(?!" + each + ")";
  for (std::size_t i = 1; i < set.negative.size(); ++i)
    expression += "(?=" + bracketed(set.negative[i], false) + ")";
  expression +=
      set.negative.empty() ? std::string(kAnyCharacter) : bracketed(set.negative[0], false);
  return expression + ")";
}

}  // namespace

std::string to_expression(const CharacterSet& set, bool complement) {
  if (set.negative.empty() && set.expressions.empty()) {
    if (set.positive.empty()) return std::string(complement ? kAnyCharacter : kNoCharacter);
    return bracketed(set.positive, complement);
  }
  if (set.positive.empty() && set.negative.size() == 1 && set.expressions.empty())
    return bracketed(set.negative[0], !complement);
  if (complement) return others_than(set);
  std::string expression = "(?:";
  if (!set.positive.empty()) expression += bracketed(set.positive, false) + "|";
  for (const std::string& negative : set.negative) expression += bracketed(negative, true) + "|";
  for (const std::string& each : set.expressions) expression += each + "|";
  expression.pop_back();
  return expression + ")";
}

}  // namespace polystate::tokenizer
