#pragma once

#include "chat_template/arguments.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// str.format() as the sandbox has it.
Value brace_format(Rendering& rendering, const Value& format, const Arguments& arguments);

}  // namespace polystate::chat_template
