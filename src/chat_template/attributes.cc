#include "chat_template/attributes.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/arguments.h"
#include "chat_template/function.h"
#include "chat_template/methods.h"
#include "chat_template/object.h"
#include "chat_template/python_text.h"
#include "chat_template/rendering.h"
#include "chat_template/string_positions.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/utf8.h"

namespace polystate::chat_template {
namespace {

std::string described(const Value& value) {
  return value.is_none() ? "None" : value.type_name() + " object";
}

// Of long names the beginning: what is not there is often not looked at.
std::string shown(std::string_view name) {
  constexpr std::size_t kLongest = 200;
  if (name.size() <= kLongest) return quoted(name);
  return quoted(name.substr(0, previous_character(name, kLongest + 1))) + "...";
}

Value lacks(const Value& value, std::string_view name) {
  return Value::undefined("'" + described(value) + "' has no attribute " + shown(name));
}

Value unsafe(const Value& value, std::string_view name) {
  return Value::undefined("access to attribute " + shown(name) + " of '" + value.type_name() +
                          "' object is unsafe.");
}

const Method* method_of(const Value& value, std::string_view name) {
  switch (value.kind()) {
    case Value::Kind::kString:
      return string_method(name);
    case Value::Kind::kDict:
      return dict_method(name);
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return sequence_method(value, name);
    case Value::Kind::kBoolean:
    case Value::Kind::kInteger:
    case Value::Kind::kReal:
      return number_method(value, name);
    default:
      return nullptr;
  }
}

bool would_change(const Value& value, std::string_view name) {
  return (value.kind() == Value::Kind::kList && changes_list(name)) ||
         (value.kind() == Value::Kind::kDict && changes_dict(name));
}

std::optional<Value> number_attribute(const Value& value, std::string_view name) {
  if (!value.is_number()) return std::nullopt;
  if (name == "real") return value.is_integer() ? Value::integer(value.as_integer()) : value;
  if (name == "imag") return value.is_integer() ? Value::integer(0) : Value::real(0);
  if (!value.is_integer()) return std::nullopt;
  if (name == "numerator") return Value::integer(value.as_integer());
  if (name == "denominator") return Value::integer(1);
  return std::nullopt;
}

// getattr() with what the sandbox makes of it; none: there is no such attribute.
std::optional<Value> attribute_of(Rendering& rendering, const Value& value, std::string_view name) {
  if (name.starts_with("__") && name.ends_with("__")) return unsafe(value, name);
  if (value.kind() == Value::Kind::kObject) return value.object().attribute(rendering, name);
  if (would_change(value, name)) return unsafe(value, name);
  if (const auto number = number_attribute(value, name)) return number;
  if (const Method* const method = method_of(value, name))
    return rendering.checked(Value::object(std::make_shared<BoundMethod>(value, *method)));
  return std::nullopt;
}

std::optional<Value> character_of(const Value& value, std::int64_t index) {
  const StringPositions positions(value.bytes());
  if (index < 0) index += positions.count();
  if (index < 0 || index >= positions.count()) return std::nullopt;
  Text text = part_of(value.text(), positions.byte_of(index), positions.byte_of(index + 1));
  return value.is_markup() ? Value::markup(std::move(text)) : Value::string(std::move(text));
}

std::optional<Value> element_of(const Elements& elements, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(elements.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size) return std::nullopt;
  return elements[static_cast<std::size_t>(index)];
}

// value[key]; none: there is no such element.
std::optional<Value> item_of(Rendering& rendering, const Value& value, const Value& key) {
  switch (value.kind()) {
    case Value::Kind::kString:
      if (!key.is_integer() || !rendering.may_read_text(value.text().size())) return std::nullopt;
      return character_of(value, key.as_integer());
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      if (!key.is_integer()) return std::nullopt;
      return element_of(value.elements(), key.as_integer());
    case Value::Kind::kDict: {
      const Value* const found = rendering.is_key(key) ? value.dict().find(key) : nullptr;
      return found == nullptr ? std::nullopt : std::optional(*found);
    }
    case Value::Kind::kObject:
      return value.object().item(rendering, key);
    default:
      return std::nullopt;
  }
}

}  // namespace

Value get_attribute(Rendering& rendering, const Value& value, std::string_view name) {
  if (value.is_undefined()) return rendering.fail(value.undefined_message());
  if (auto found = attribute_of(rendering, value, name)) return *found;
  if (auto found = item_of(rendering, value, Value::string(name))) return *found;
  return lacks(value, name);
}

Value get_only_attribute(Rendering& rendering, const Value& value, std::string_view name) {
  if (value.is_undefined()) return rendering.fail(value.undefined_message());
  if (auto found = attribute_of(rendering, value, name)) return *found;
  return lacks(value, name);
}

Value get_item(Rendering& rendering, const Value& value, const Value& key) {
  if (value.is_undefined()) return rendering.fail(value.undefined_message());
  if (auto found = item_of(rendering, value, key)) return *found;
  if (!key.is_string()) return Value::undefined(described(value) + " has no such element");
  if (auto found = attribute_of(rendering, value, key.bytes())) return *found;
  return lacks(value, key.bytes());
}

Value call(Rendering& rendering, const Value& callee, const Arguments& arguments) {
  if (rendering.failed()) return {};
  if (callee.is_undefined()) return rendering.fail(callee.undefined_message());
  if (callee.kind() == Value::Kind::kObject && callee.object().is_callable())
    return callee.object().call(rendering, arguments);
  return rendering.fail("'" + callee.type_name() + "' object is not callable");
}

}  // namespace polystate::chat_template
