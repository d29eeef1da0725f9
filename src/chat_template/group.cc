#include "chat_template/group.h"

#include <optional>
#include <string_view>

#include "chat_template/attributes.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"

namespace polystate::chat_template {

std::optional<Value> Group::attribute(Rendering& /*rendering*/, std::string_view name) {
  if (name == "grouper") return pair_.elements()[0];
  if (name == "list") return pair_.elements()[1];
  return std::nullopt;
}

std::optional<Value> Group::item(Rendering& rendering, const Value& key) {
  if (!key.is_integer()) return std::nullopt;
  return get_item(rendering, pair_, key);
}

bool Group::write(Rendering& rendering, TextBuilder& builder) {
  write_repr(rendering, pair_, builder);
  return true;
}

}  // namespace polystate::chat_template
