#pragma once

#include <cstddef>
#include <string_view>

namespace polystate {

// Alphabets of names. Text is valid UTF-8, unless said otherwise: the JSON parser saw to that.

constexpr std::size_t kLongestName = 255;  // bytes

// Python identifiers, nearly: letters, digits and '_', not starting with a digit. Characters beyond
// ASCII count as letters, but for control and formatting characters.
bool is_identifier(std::string_view name);

// Parts separated by '.', each of letters, digits, '_' and '-': "decoder.layers.0.keys".
bool is_dotted_name(std::string_view name);

// A file inside the artifact: ASCII letters, digits, '.', '_' and '-', not starting with '.'.
bool is_file_name(std::string_view name);

// Text for people, on one line: no control characters.
bool is_printable(std::string_view text);

}  // namespace polystate
