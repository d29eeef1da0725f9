#pragma once

#include <string>

#include "polystate/chat_template/template_value.h"

namespace polystate {

// An answer, read.
struct ChatText {
  std::string content = {};
  std::string thinking = {};
  TemplateValue tool_calls = {};  // a list, or none
};

}  // namespace polystate
