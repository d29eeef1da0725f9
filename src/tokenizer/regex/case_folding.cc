#include "tokenizer/regex/case_folding.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "tokenizer/unicode/tables.h"

namespace polystate::tokenizer {
namespace {

std::u32string_view folding(const CaseFolding& entry) {
  const std::u32string_view padded(entry.folded.data(), entry.folded.size());
  return padded.substr(0, padded.find(U'\0'));
}

// A character that is in no folding of several stays as it is.
std::u32string folding(char32_t code_point) {
  const auto all = case_foldings();
  const auto found = std::ranges::lower_bound(all, code_point, {}, &CaseFolding::code_point);
  if (found == all.end() || found->code_point != code_point) return {code_point};
  return std::u32string(folding(*found));
}

}  // namespace

bool folds_to_several(char32_t code_point) { return folding(code_point).size() > 1; }

bool ends_with_folding(std::u32string_view characters) {
  constexpr std::size_t kLongest = 3;
  if (characters.size() > kLongest) characters.remove_prefix(characters.size() - kLongest);
  std::u32string folded;
  for (const char32_t character : characters) folded += folding(character);
  return std::ranges::any_of(case_foldings(), [&](const CaseFolding& each) {
    const std::u32string_view several = folding(each);
    return several.size() > 1 && folded.ends_with(several);
  });
}

}  // namespace polystate::tokenizer
