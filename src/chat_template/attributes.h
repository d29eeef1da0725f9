#pragma once

#include <string_view>

#include "chat_template/value.h"

namespace polystate::chat_template {

struct Arguments;
class Rendering;

// value.name and value[key] as jinja2's sandbox looks them up: what is not there is undefined, and
// so is what the sandbox forbids, such as list.append.
Value get_attribute(Rendering& rendering, const Value& value, std::string_view name);
Value get_item(Rendering& rendering, const Value& value, const Value& key);
// value.name without elements: a dictionary's own attributes, not its keys.
Value get_only_attribute(Rendering& rendering, const Value& value, std::string_view name);

// Calls a function, a macro or whatever else is callable.
Value call(Rendering& rendering, const Value& callee, const Arguments& arguments);

}  // namespace polystate::chat_template
