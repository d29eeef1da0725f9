#pragma once

#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate::chat_template {

// What stands between the quotes of a string, its escapes replaced as Python does. kContract for
// escapes that are malformed, or not supported; the message has no place.
Result<std::string> unescaped(std::string_view literal);

}  // namespace polystate::chat_template
