#pragma once

#include <optional>
#include <string_view>

#include "chat_template/object.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

// What namespace() makes: attributes that a template may set, from inner scopes too.
class Namespace : public Object {
 public:
  [[nodiscard]] std::string_view type_name() const override { return "TemplateNamespace"; }
  std::optional<Value> attribute(Rendering& rendering, std::string_view name) override;
  bool write(Rendering& rendering, TextBuilder& builder) override;

  // Fails for names that begin with '_'.
  void set(Rendering& rendering, const Value& name, Value value);
  void clear() { attributes_ = Dict(); }

 private:
  Dict attributes_;
  bool writing_ = false;
};

}  // namespace polystate::chat_template
