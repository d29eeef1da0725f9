#include "tokenizer/unicode/normal_form.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/utf8.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/aligned_text.h"
#include "tokenizer/unicode/tables.h"

namespace polystate::tokenizer {
namespace {

// Hangul syllables are composed and decomposed by arithmetic (section 3.12 of the standard).
constexpr char32_t kSyllables = 0xAC00;
constexpr char32_t kLeading = 0x1100;
constexpr char32_t kVowels = 0x1161;
constexpr char32_t kTrailing = 0x11A7;  // one before the first
constexpr char32_t kLeadingCount = 19;
constexpr char32_t kVowelCount = 21;
constexpr char32_t kTrailingCount = 28;
constexpr char32_t kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

struct Output : ChangedCharacter {
  std::uint8_t combining_class;
};

bool is_composing(UnicodeForm form) {
  return form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
}

bool is_compatible(UnicodeForm form) {
  return form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
}

// Characters below it stay as they are unless a later one composes with them, and compose with none
// before them.
char32_t first_affected(UnicodeForm form) { return form == UnicodeForm::kNfc ? 0x300 : 0xA0; }

std::uint8_t combining_class(char32_t code_point) {
  if (code_point < 0x300) return 0;
  const auto classes = combining_classes();
  const auto found = std::ranges::lower_bound(classes, code_point, {}, &CombiningClass::code_point);
  return found != classes.end() && found->code_point == code_point ? found->value : 0;
}

void sort_marks(std::vector<Output>& outputs, std::size_t begin) {
  std::stable_sort(
      outputs.begin() + static_cast<std::ptrdiff_t>(begin), outputs.end(),
      [](const Output& a, const Output& b) { return a.combining_class < b.combining_class; });
}

// Calls `put` with each character of a full decomposition.
template <typename Put>
void decompose_character(char32_t code_point, bool compatible, const Put& put) {
  if (code_point - kSyllables < kSyllableCount) {
    const char32_t index = code_point - kSyllables;
    put(kLeading + index / (kVowelCount * kTrailingCount));
    put(kVowels + index / kTrailingCount % kVowelCount);
    if (index % kTrailingCount != 0) put(kTrailing + index % kTrailingCount);
    return;
  }
  const auto all = compatible ? compatible_decompositions() : canonical_decompositions();
  const auto found = std::ranges::lower_bound(all, code_point, {}, &Decomposition::code_point);
  if (found == all.end() || found->code_point != code_point) return put(code_point);
  for (const char32_t part : decomposition_parts().subspan(found->begin, found->size)) put(part);
}

std::vector<Output> decompose(std::string_view text, bool compatible) {
  std::vector<Output> outputs;
  std::size_t marks = 0;  // where the marks start that are not in order yet
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character character = character_at(text, i);
    i += character.size;
    bool is_first = true;
    decompose_character(character.code_point, compatible, [&](char32_t code_point) {
      const std::uint8_t order = combining_class(code_point);
      if (order == 0) {
        sort_marks(outputs, marks);
        marks = outputs.size() + 1;
      }
      outputs.push_back({{code_point, is_first ? 1 : 0}, order});
      is_first = false;
    });
  }
  sort_marks(outputs, std::min(marks, outputs.size()));
  return outputs;
}

// The character that a pair composes to, if any.
std::optional<char32_t> composed(char32_t first, char32_t second) {
  if (second < 0x300) return std::nullopt;
  if (first - kLeading < kLeadingCount && second - kVowels < kVowelCount) {
    return kSyllables + ((first - kLeading) * kVowelCount + second - kVowels) * kTrailingCount;
  }
  if (first - kSyllables < kSyllableCount && (first - kSyllables) % kTrailingCount == 0 &&
      second > kTrailing && second - kTrailing < kTrailingCount) {
    return first + second - kTrailing;
  }
  const auto all = compositions();
  const auto found = std::ranges::lower_bound(
      all, std::pair(first, second), {},
      [](const Composition& each) { return std::pair(each.first, each.second); });
  if (found == all.end() || found->first != first || found->second != second) return std::nullopt;
  return found->composed;
}

// Composes in place what is decomposed and in order (definition D117 of the Unicode standard).
void compose(std::vector<Output>& outputs) {
  std::size_t size = 0;
  std::optional<std::size_t> starter;
  int last_class = -1;  // of the characters kept since the starter; -1: none
  for (const Output& output : outputs) {
    if (starter && last_class < static_cast<int>(output.combining_class)) {
      if (const auto character = composed(outputs[*starter].code_point, output.code_point)) {
        outputs[*starter].code_point = *character;
        outputs[*starter].taken += output.taken;
        continue;
      }
    }
    if (output.combining_class == 0) {
      starter = size;
      last_class = -1;
    } else {
      last_class = output.combining_class;
    }
    outputs[size++] = output;
  }
  outputs.resize(size);
}

// Puts the form of bytes [begin, end) of `text`.
void put_form(UnicodeForm form, std::string_view text, TextRange range, TextEdit& edit) {
  std::vector<Output> outputs =
      decompose(text.substr(range.begin, range.end - range.begin), is_compatible(form));
  if (is_composing(form)) compose(outputs);
  const std::vector<ChangedCharacter> characters(outputs.begin(), outputs.end());
  put_changed(text, range, characters, edit);
}

}  // namespace

void apply_unicode_form(UnicodeForm form, AlignedText& text) {
  const std::string_view source = text.text;
  const char32_t limit = first_affected(form);
  std::size_t position = ascii_prefix(source);
  while (position < source.size() && character_at(source, position).code_point < limit) {
    position += character_size(source[position]);
  }
  if (position == source.size()) return;

  rewrite_text(text, [&](TextEdit& edit) {
    std::size_t kept = 0;
    while (position < source.size()) {
      const std::size_t begin = position > kept ? previous_character(source, position) : position;
      edit.keep(kept, begin);
      while (position < source.size() && character_at(source, position).code_point >= limit) {
        position += character_size(source[position]);
      }
      put_form(form, source,
               {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(position)}, edit);
      kept = position;
      while (position < source.size() && character_at(source, position).code_point < limit) {
        position += character_size(source[position]);
      }
    }
    edit.keep(kept, source.size());
  });
}

}  // namespace polystate::tokenizer
