#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"

namespace polystate {

// Tools as templates take them: {"type": "function", "function": {"name": ..., "parameters": ...}},
// of which the inner one alone may be given. kContract names the tool, and what is wrong: no name,
// one that another tool has, or parameters that are no JSON schema of an object.
Result<TemplateValue> checked_tools(const TemplateValue& tools);

// The names of checked tools.
std::vector<std::string> names_of_tools(const TemplateValue& tools);

// Whether a choice is "auto", "none", "required", or one of the names. kContract otherwise.
Status check_tool_choice(std::string_view choice, const TemplateValue& tools);

}  // namespace polystate
