#pragma once

#include <string>
#include <string_view>

#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// str() and repr() of a value. They fail for objects whose text has an address, and where a text
// becomes too long. What is not the text of a string has the origin of the number, or the
// template's.
Text str_of(Rendering& rendering, const Value& value);
Text repr_of(Rendering& rendering, const Value& value);
void write_repr(Rendering& rendering, const Value& value, TextBuilder& builder);
// Writes values with ", " between them.
void write_reprs(Rendering& rendering, const Elements& values, TextBuilder& builder);

// repr() of a text, for messages.
std::string quoted(std::string_view text);

}  // namespace polystate::chat_template
