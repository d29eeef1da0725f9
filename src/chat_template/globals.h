#pragma once

#include <string_view>

#include "chat_template/value.h"

namespace polystate::chat_template {

// What every template knows by a name, such as `range`; missing where there is none.
Value global(std::string_view name);

}  // namespace polystate::chat_template
