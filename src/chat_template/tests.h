#pragma once

#include <string_view>

#include "chat_template/arguments.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// A test, as in `value is odd`: the value is the first of the arguments.
using Test = bool (*)(Rendering& rendering, const Arguments& arguments);

// The test of a name; nullptr where there is none.
Test test_named(std::string_view name);

}  // namespace polystate::chat_template
