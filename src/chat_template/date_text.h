#pragma once

#include <ctime>

#include "chat_template/text.h"

namespace polystate::chat_template {

class Rendering;

// datetime.strftime() of a time that has no zone, in the "C" locale.
Text date_text(Rendering& rendering, const Text& format, const std::tm& time);

}  // namespace polystate::chat_template
