#pragma once

#include <string_view>

#include "chat_template/arguments.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// A filter, as in `value | upper`: the value is the first of the arguments.
using Filter = Value (*)(Rendering& rendering, const Arguments& arguments);

struct NamedFilter {
  std::string_view name;
  Filter filter;
};

// The filter of a name; nullptr where there is none.
Filter filter_named(std::string_view name);

// The same among those of texts, of sequences, and of the others.
Filter text_filter(std::string_view name);
Filter sequence_filter(std::string_view name);
Filter value_filter(std::string_view name);

}  // namespace polystate::chat_template
