#include "core/names.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "core/utf8.h"

namespace polystate {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_ascii_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

bool is_beyond_ascii(char c) { return static_cast<unsigned char>(c) >= 0x80; }

// Whether any character of `text` is `bad`; a byte that is no UTF-8 is not asked for.
template <typename Predicate>
bool has_character(std::string_view text, Predicate bad) {
  while (!text.empty()) {
    const Utf8Character character = first_character(text);
    if (character.size > 0 && bad(character.code_point)) return true;
    text.remove_prefix(std::max<std::size_t>(character.size, 1));
  }
  return false;
}

// Whether it is no part of a word: what is unsafe to show, and U+2000 to U+206F, which are spaces,
// dashes, quotes and joiners.
bool is_no_letter(char32_t c) { return is_unsafe_to_show(c) || (c >= 0x2000 && c <= 0x206F); }

bool is_shown_as_written(std::string_view text) { return !has_character(text, is_no_letter); }

bool is_name_part(std::string_view part) {
  return !part.empty() && std::all_of(part.begin(), part.end(), [](char c) {
    return is_ascii_word(c) || c == '-' || is_beyond_ascii(c);
  });
}

}  // namespace

bool is_identifier(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || is_digit(name[0]) ||
      !is_shown_as_written(name)) {
    return false;
  }
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_ascii_word(c) || is_beyond_ascii(c); });
}

bool is_dotted_name(std::string_view name) {
  if (name.size() > kLongestName || !is_shown_as_written(name)) return false;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.')) {
    if (!is_name_part(name.substr(0, dot))) return false;
    name.remove_prefix(dot + 1);
  }
  return is_name_part(name);
}

bool is_file_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_ascii_word(c) || c == '.' || c == '-'; });
}

bool is_printable(std::string_view text) { return !has_character(text, is_control); }

}  // namespace polystate
