#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chat_template/scope.h"
#include "chat_template/syntax.h"
#include "polystate/core/result.h"

namespace polystate::chat_template {

// A template that is ready to render.
struct Template {
  Template() : scope(nullptr) {}

  Body body;
  Scope scope;  // of the template itself
  // The template's own text, and the strings in it.
  std::vector<std::string> texts;
};

// Reads a template of valid UTF-8. kContract where jinja2 refuses it, or where constructs are too
// deep in one another; the message has the line.
Status parse(std::string_view source, Template& parsed);

}  // namespace polystate::chat_template
