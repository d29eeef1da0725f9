#include "tokenizer/regex/case_folding.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace polystate::tokenizer {
namespace {

constexpr char32_t kLast = 0x1FFFF;  // no letter with cases comes after it

std::u32string folding(char32_t code_point) {
  std::array<utf8proc_int32_t, 8> folded{};
  int boundary = 0;
  const utf8proc_ssize_t size =
      utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), folded.data(),
                              folded.size(), UTF8PROC_CASEFOLD, &boundary);
  if (size < 1) return {code_point};
  return {folded.begin(), folded.begin() + size};
}

// Every folding that has several characters.
const std::vector<std::u32string>& foldings() {
  static const std::vector<std::u32string> kFoldings = [] {
    std::vector<std::u32string> found;
    for (char32_t code_point = 0; code_point <= kLast; ++code_point) {
      std::u32string folded = folding(code_point);
      if (folded.size() > 1) found.push_back(std::move(folded));
    }
    return found;
  }();
  return kFoldings;
}

}  // namespace

bool folds_to_several(char32_t code_point) { return folding(code_point).size() > 1; }

bool ends_with_folding(std::u32string_view characters) {
  constexpr std::size_t kLongest = 3;
  if (characters.size() > kLongest) characters.remove_prefix(characters.size() - kLongest);
  std::u32string folded;
  for (const char32_t character : characters) folded += folding(character);
  return std::any_of(foldings().begin(), foldings().end(),
                     [&](const std::u32string& each) { return folded.ends_with(each); });
}

}  // namespace polystate::tokenizer
