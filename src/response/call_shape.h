#pragma once

#include "chat_template/value.h"
#include "polystate/core/result.h"

namespace polystate::response {

// A call that was read, or a list of them, whose arguments are a dictionary: a text of JSON becomes
// one. kContract: a call has no name, or no arguments.
Result<chat_template::Value> checked_calls(const chat_template::Value& calls);

}  // namespace polystate::response
