#pragma once

#include <string>
#include <string_view>

#include "chat_template/text.h"
#include "chat_template/value.h"
#include "polystate/core/result.h"

namespace polystate::response {

// A JSON document that a model wrote: names may occur twice, and the last one counts, as in Python.
// An integer of over 64 bits with its sign, which no value holds, is the nearest double, as in
// JavaScript. kContract: it is no JSON, a number is beyond the doubles, or it is nested more than
// 250 deep.
Result<chat_template::Value> parse_value(std::string_view document, chat_template::Origin origin);

// A text as a JSON string.
std::string json_string(std::string_view text);

// The value with all its texts and numbers of another origin.
chat_template::Value with_origin(const chat_template::Value& value, chat_template::Origin origin);

}  // namespace polystate::response
