#pragma once

#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// format % values, in the manner of printf.
Value percent_format(Rendering& rendering, const Value& format, const Value& values);

}  // namespace polystate::chat_template
