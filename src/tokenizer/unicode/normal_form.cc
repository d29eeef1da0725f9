#include "tokenizer/unicode/normal_form.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/utf8.h"
#include "polystate/tokenizer/encoding.h"
#include "tokenizer/aligned_text.h"

namespace polystate::tokenizer {
namespace {

// utf8proc takes sets of its options as values of their enumeration, which none of them is.
constexpr utf8proc_option_t combined(utf8proc_option_t a, utf8proc_option_t b) {
  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): any set of bits fits
  return static_cast<utf8proc_option_t>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

struct Output : ChangedCharacter {
  utf8proc_propval_t combining_class;
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

utf8proc_propval_t combining_class(char32_t code_point) {
  return utf8proc_get_property(static_cast<utf8proc_int32_t>(code_point))->combining_class;
}

void sort_marks(std::vector<Output>& outputs, std::size_t begin) {
  std::stable_sort(
      outputs.begin() + static_cast<std::ptrdiff_t>(begin), outputs.end(),
      [](const Output& a, const Output& b) { return a.combining_class < b.combining_class; });
}

std::vector<Output> decompose(std::string_view text, bool compatible) {
  const utf8proc_option_t options =
      compatible ? combined(UTF8PROC_DECOMPOSE, UTF8PROC_COMPAT) : UTF8PROC_DECOMPOSE;
  std::vector<Output> outputs;
  std::size_t marks = 0;  // where the marks start that are not in order yet
  std::array<utf8proc_int32_t, 64> parts{};
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Character character = character_at(text, i);
    i += character.size;
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(character.code_point), parts.data(),
                                parts.size(), options, &boundary);
    assert(count > 0 && count <= static_cast<utf8proc_ssize_t>(parts.size()));
    for (utf8proc_ssize_t part = 0; part < count; ++part) {
      const auto code_point = static_cast<char32_t>(parts[static_cast<std::size_t>(part)]);
      const utf8proc_propval_t order = combining_class(code_point);
      if (order == 0) {
        sort_marks(outputs, marks);
        marks = outputs.size() + 1;
      }
      outputs.push_back({{code_point, part == 0 ? 1 : 0}, order});
    }
  }
  sort_marks(outputs, std::min(marks, outputs.size()));
  return outputs;
}

// The character that a pair composes to, if any.
std::optional<char32_t> composed(char32_t first, char32_t second) {
  if (second < 0x300) return std::nullopt;
  std::array<utf8proc_int32_t, 2> pair = {static_cast<utf8proc_int32_t>(first),
                                          static_cast<utf8proc_int32_t>(second)};
  constexpr utf8proc_option_t kOptions = combined(UTF8PROC_COMPOSE, UTF8PROC_STABLE);
  if (utf8proc_normalize_utf32(pair.data(), 2, kOptions) != 1) return std::nullopt;
  return static_cast<char32_t>(pair[0]);
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
