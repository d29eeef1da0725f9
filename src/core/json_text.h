#pragma once

#include <string>

#include "core/json.h"

namespace polystate {

// A value as JSON, with its members in their order.
std::string json_text(const Json& json);

}  // namespace polystate
