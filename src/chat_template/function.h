#pragma once

#include <string_view>
#include <utility>

#include "chat_template/arguments.h"
#include "chat_template/methods.h"
#include "chat_template/object.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

// A function that every template knows.
class Function : public Object {
 public:
  using Call = Value (*)(Rendering& rendering, const Arguments& arguments);

  explicit Function(Call call) : call_(call) {}
  [[nodiscard]] std::string_view type_name() const override { return "function"; }
  [[nodiscard]] bool is_callable() const override { return true; }
  Value call(Rendering& rendering, const Arguments& arguments) override {
    return call_(rendering, arguments);
  }

 private:
  Call call_;
};

// A method of a value, with that value: `text.strip`.
class BoundMethod : public Object {
 public:
  BoundMethod(Value self, const Method& method)
      : Object(self.depth(), self.value_count()), self_(std::move(self)), method_(method) {}
  [[nodiscard]] std::string_view type_name() const override { return "builtin_function_or_method"; }
  [[nodiscard]] bool equals(const Object& other) const override;
  [[nodiscard]] bool is_callable() const override { return true; }
  Value call(Rendering& rendering, const Arguments& arguments) override {
    return method_.call(rendering, self_, arguments);
  }

 private:
  Value self_;
  const Method& method_;
};

}  // namespace polystate::chat_template
