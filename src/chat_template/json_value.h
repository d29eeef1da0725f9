#pragma once

#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/json.h"

namespace polystate::chat_template {

// A JSON value as templates have values, of one origin. An integer that needs 64 bits without a
// sign becomes a float.
Value value_of(const Json& json, Origin origin);

}  // namespace polystate::chat_template
