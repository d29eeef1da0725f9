#pragma once

#include <optional>

#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

class Rendering;

// The arguments of Python's json.dumps that templates give.
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<Text> indent;  // of one level; none: all on one line
  Text item_separator;
  Text key_separator;
  bool sort_keys = false;
};

// json.dumps() of a value. Fails for values that JSON has not.
Text json_of(Rendering& rendering, const Value& value, const JsonStyle& style);

}  // namespace polystate::chat_template
