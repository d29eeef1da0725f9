#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "chat_template/object.h"
#include "chat_template/scope.h"
#include "chat_template/statements.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

// A macro with the variables around it.
class Macro : public Object {
 public:
  Macro(const MacroBody& body, std::shared_ptr<Frame> frame)
      : body_(body), frame_(std::move(frame)) {}

  [[nodiscard]] std::string_view type_name() const override { return "Macro"; }
  [[nodiscard]] bool is_callable() const override { return true; }
  std::optional<Value> attribute(Rendering& rendering, std::string_view name) override;
  Value call(Rendering& rendering, const Arguments& arguments) override;
  bool write(Rendering& rendering, TextBuilder& builder) override;

 private:
  bool bind(Rendering& rendering, const Arguments& arguments, Frame& frame) const;
  bool bind_special(Rendering& rendering, Arguments rest, bool found_caller, Frame& frame) const;

  const MacroBody& body_;
  std::shared_ptr<Frame> frame_;
};

}  // namespace polystate::chat_template
