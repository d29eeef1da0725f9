#pragma once

#include <string>

#include "polystate/chat_template/chat_templates.h"

namespace polystate {

// How a model writes thoughts and calls, as its chat template shows: the names of known
// forms, empty where no form fits.
struct ResponseForms {
  std::string thinking = {};
  std::string tool_calls = {};
  bool shows_tools = false;  // whether the template shows tools to the model
};

// `chat` has what the template is given besides messages and tools.
ResponseForms find_response_forms(const ChatTemplates& templates, const ChatInput& chat);

}  // namespace polystate
