#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate::grammar {

// How a text is written where an expression says what it may be.
enum class TextForm : std::uint8_t {
  kJson,    // between the quotes of a JSON string: `"`, `\` and U+0000 to U+001F are escaped
  kPlain,   // as it is
  kEither,  // in one of both ways: it has none of the characters that JSON escapes
};

// An expression over written texts that says as a whole what `pattern` (ECMA-262's syntax, with the
// classes of ASCII) says by a search in the text. Each character is written in one way, that of
// Python's json.dumps. kUnsupported: what it does not know, such as look-around, references to
// groups, and `^` and `$` elsewhere than at the ends. kContract: what is no expression, or is too
// long.
Result<std::string> written_pattern(std::string_view pattern, TextForm form);

// An expression for `least` to `most` characters, `most` being empty where there is no limit.
std::string pattern_of_length(const std::string& least, const std::string& most, TextForm form);

}  // namespace polystate::grammar
