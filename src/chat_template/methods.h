#pragma once

#include <string_view>

#include "chat_template/arguments.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// A method of a value: text.strip.
struct Method {
  std::string_view name;
  Value (*call)(Rendering& rendering, const Value& self, const Arguments& arguments);
};

// The methods of Python's types by their names; nullptr where a type has no such method.
const Method* string_method(std::string_view name);
const Method* dict_method(std::string_view name);
const Method* sequence_method(const Value& sequence, std::string_view name);
const Method* number_method(const Value& number, std::string_view name);

// Whether a method would change the list or dict that it is of, so that the sandbox forbids it.
bool changes_list(std::string_view name);
bool changes_dict(std::string_view name);

}  // namespace polystate::chat_template
