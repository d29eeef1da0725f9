#include "chat_template/namespace.h"

#include <optional>
#include <string_view>
#include <utility>

#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

std::optional<Value> Namespace::attribute(Rendering& /*rendering*/, std::string_view name) {
  const Value* const value = attributes_.find(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

void Namespace::set(Rendering& rendering, const Value& name, Value value) {
  if (name.is_string() && name.bytes().starts_with('_')) {
    rendering.fail("a namespace takes no attribute that begins with an underscore, such as " +
                   quoted(name.bytes()));
    return;
  }
  attributes_.set(name, rendering.checked(std::move(value)));
}

bool Namespace::write(Rendering& rendering, TextBuilder& builder) {
  if (writing_) {
    rendering.fail("a namespace that holds itself has no text");
    return true;
  }
  writing_ = true;
  const Rendering::Inside inside(rendering, rendering.line());
  builder.append("<Namespace ", Origin::kTemplate);
  write_repr(rendering, Value::dict(attributes_), builder);
  builder.append(">", Origin::kTemplate);
  writing_ = false;
  return true;
}

}  // namespace polystate::chat_template
