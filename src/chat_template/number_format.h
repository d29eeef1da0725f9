#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// What Python's format() and % say about how to write a value.
struct NumberFormat {
  char type = 0;  // one of "bcdeEfFgGnosxX%", or 0: by the value's type
  std::optional<std::int64_t> precision;
  bool alternate = false;  // '#'
  char sign = '-';         // or '+' or ' ': what stands before positive numbers
  char grouping = 0;       // ',' or '_'

  std::string fill = " ";  // one character
  char align = 0;          // '<', '>', '^', or '=': between the sign and the digits
  std::int64_t width = 0;  // at least, in characters
};

// A number written so. Fails where Python does, or where the text becomes too long.
Text formatted_number(Rendering& rendering, const Value& number, const NumberFormat& format);
// A text cut to the precision, and padded.
Text padded_text(Rendering& rendering, const Text& text, const NumberFormat& format);

}  // namespace polystate::chat_template
