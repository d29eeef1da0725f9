#pragma once

#include <cstddef>
#include <string_view>

namespace polystate {

// A character of UTF-8: its code point, and how many bytes it takes.
struct Utf8Character {
  char32_t code_point;
  std::size_t size;
};

// The character that non-empty `text` begins with; of no bytes where the text is not valid there
// (Unicode 15, table 3-7: overlong forms, surrogates and values over U+10FFFF are not).
Utf8Character first_character(std::string_view text);

// Whether all of `bytes` are UTF-8.
bool is_utf8(std::string_view bytes);

// U+0000 to U+001F, and U+007F to U+009F.
bool is_control(char32_t code_point);

// Whether it may change how the text around it is shown: controls, ends of lines and paragraphs,
// and the marks that set the direction of what follows (Unicode's Bidi_Control).
bool is_unsafe_to_show(char32_t code_point);

}  // namespace polystate
