#pragma once

#include "chat_template/value.h"

namespace polystate::response {

// What tools' schemas say of their arguments.
class ArgumentTypes {
 public:
  // A list of schemas of tools, or none.
  explicit ArgumentTypes(const chat_template::Value& tools);

  // A call, or a list of them, with arguments that are text read as their schemas say. What cannot
  // be read so stays text. An integer of over 64 bits with its sign is a double. `strips_choices`:
  // also, a text with space around it is one of those that its schema lists, where that has the
  // text without the space alone.
  [[nodiscard]] chat_template::Value read(const chat_template::Value& calls,
                                          bool strips_choices = false) const;

 private:
  [[nodiscard]] chat_template::Value read_call(const chat_template::Value& call,
                                               bool strips_choices) const;

  chat_template::Dict properties_;  // of each tool's parameters, by its name
};

}  // namespace polystate::response
