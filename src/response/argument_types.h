#pragma once

#include "chat_template/value.h"

namespace polystate::response {

// What tools' schemas say of their arguments.
class ArgumentTypes {
 public:
  // A list of schemas of tools, or none.
  explicit ArgumentTypes(const chat_template::Value& tools);

  // A call, or a list of them, with arguments that are text read as their schemas say. What cannot
  // be read so stays text.
  [[nodiscard]] chat_template::Value read(const chat_template::Value& calls) const;

 private:
  [[nodiscard]] chat_template::Value read_call(const chat_template::Value& call) const;

  chat_template::Dict properties_;  // of each tool's parameters, by its name
};

}  // namespace polystate::response
