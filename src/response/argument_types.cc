#include "response/argument_types.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/number.h"
#include "chat_template/string_functions.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "polystate/core/result.h"
#include "response/json_value.h"

namespace polystate::response {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Origin;
using chat_template::Value;

constexpr double kIntegerLimit = 9223372036854775808.0;  // 2^63

const Value* find(const Value& value, std::string_view name) {
  return value.kind() == Value::Kind::kDict ? value.dict().find(name) : nullptr;
}

// The types that a word of a schema names: one, or several.
std::vector<std::string_view> named_types(const Value& type) {
  std::vector<std::string_view> types;
  if (type.is_string()) types.push_back(type.bytes());
  if (!type.is_sequence()) return types;
  for (const Value& each : type.elements()) {
    if (each.is_string()) types.push_back(each.bytes());
  }
  return types;
}

// The types that a schema allows, in its order.
std::vector<std::string_view> types_of(const Value& schema) {
  std::vector<std::string_view> types;
  if (schema.kind() != Value::Kind::kDict) return types;
  if (const Value* const type = find(schema, "type")) types = named_types(*type);
  for (const std::string_view name : {"anyOf", "oneOf"}) {
    const Value* const choices = find(schema, name);
    if (choices == nullptr || !choices->is_sequence()) continue;
    for (const Value& choice : choices->elements()) {
      const std::vector<std::string_view> more = types_of(choice);
      types.insert(types.end(), more.begin(), more.end());
    }
  }
  const Value* const nullable = find(schema, "nullable");
  if (nullable != nullptr && nullable->is_true() &&
      std::ranges::find(types, "null") == types.end()) {
    types.push_back("null");
  }
  return types;
}

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

std::optional<Value> whole(double number, Origin origin) {
  if (number != std::trunc(number)) return std::nullopt;
  if (std::abs(number) >= kIntegerLimit) return Value::real(number, origin);
  return Value::integer(static_cast<std::int64_t>(number), origin);
}

std::optional<Value> integer_of(std::string_view text, Origin origin) {
  using Outcome = chat_template::ParsedInteger::Outcome;
  const chat_template::ParsedInteger parsed = chat_template::parse_integer(text, 10);
  if (parsed.outcome == Outcome::kValue) return Value::integer(parsed.value, origin);
  const std::optional<double> number = chat_template::parse_real(text);
  return number && std::isfinite(*number) ? whole(*number, origin) : std::nullopt;
}

std::optional<Value> number_of(std::string_view text, Origin origin) {
  const std::optional<double> number = chat_template::parse_real(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  if (*number != std::trunc(*number) || text.find('.') != std::string_view::npos)
    return Value::real(*number, origin);
  return whole(*number, origin);
}

// The text as a value of a type; nothing where it is none.
std::optional<Value> as_type(const Value& text, std::string_view type) {
  const Origin origin = text.text().origin_at(0);
  const std::string_view raw = text.bytes();
  if (type == "integer") return integer_of(raw, origin);
  if (type == "number") return number_of(raw, origin);
  if (type == "boolean") {
    const std::string word = lowered(std::string(chat_template::stripped(raw)));
    if (word == "true" || word == "1") return Value::boolean(true, origin);
    if (word == "false" || word == "0") return Value::boolean(false, origin);
  }
  if (type == "null") {
    const std::string_view word = chat_template::stripped(raw);
    if (word == "null" || word == "None") return Value();
  }
  if (type == "object" || type == "array") {
    const Result<Value> value = parse_value(raw, origin);
    const Value::Kind kind = type == "object" ? Value::Kind::kDict : Value::Kind::kList;
    if (value && value->kind() == kind) return *value;
  }
  return std::nullopt;
}

Value read_text(const Value& text, const std::vector<std::string_view>& types) {
  for (const std::string_view type : types) {
    if (const std::optional<Value> value = as_type(text, type)) return *value;
  }
  return text;
}

// Adds the texts that a schema lists as the values it finds valid.
void add_choices(const Value& schema, std::vector<std::string_view>& choices) {
  if (const Value* const only = find(schema, "const"); only != nullptr && only->is_string())
    choices.push_back(only->bytes());
  if (const Value* const list = find(schema, "enum"); list != nullptr && list->is_sequence()) {
    for (const Value& each : list->elements()) {
      if (each.is_string()) choices.push_back(each.bytes());
    }
  }
  for (const std::string_view name : {"anyOf", "oneOf"}) {
    const Value* const several = find(schema, name);
    if (several == nullptr || !several->is_sequence()) continue;
    for (const Value& each : several->elements()) add_choices(each, choices);
  }
}

// The argument without the space around it, where that makes it a text that its schema lists.
Value as_choice(const Value& argument, const Value& schema) {
  if (!argument.is_string()) return argument;
  std::vector<std::string_view> choices;
  add_choices(schema, choices);
  const std::string_view text = argument.bytes();
  const std::string_view stripped = chat_template::stripped(text);
  if (std::ranges::find(choices, text) != choices.end() ||
      std::ranges::find(choices, stripped) == choices.end()) {
    return argument;
  }
  return Value::string(stripped, argument.text().origin_at(0));
}

Value read_argument(const Value& argument, const std::vector<std::string_view>& types) {
  if (argument.is_string()) return read_text(argument, types);
  const bool is_array = std::ranges::find(types, "array") != types.end();
  if (argument.kind() != Value::Kind::kList || is_array) return argument;
  Elements elements;  // of a name that occurs several times
  for (const Value& element : argument.elements())
    elements.push_back(element.is_string() ? read_text(element, types) : element);
  return Value::list(std::move(elements));
}

}  // namespace

ArgumentTypes::ArgumentTypes(const Value& tools) {
  if (!tools.is_sequence()) return;
  for (const Value& tool : tools.elements()) {
    const Value* const wrapped = find(tool, "function");
    const Value& function = wrapped == nullptr ? tool : *wrapped;
    const Value* const name = find(function, "name");
    if (name == nullptr || !name->is_string()) continue;
    const Value* const parameters = find(function, "parameters");
    const Value* const properties =
        parameters == nullptr ? nullptr : find(*parameters, "properties");
    const bool is_dict = properties != nullptr && properties->kind() == Value::Kind::kDict;
    properties_.set(*name, is_dict ? *properties : Value::dict({}));
  }
}

Value ArgumentTypes::read(const Value& calls, bool strips_choices) const {
  if (properties_.size() == 0) return calls;
  if (calls.kind() != Value::Kind::kList) return read_call(calls, strips_choices);
  Elements elements;
  for (const Value& call : calls.elements()) elements.push_back(read(call, strips_choices));
  return Value::list(std::move(elements));
}

Value ArgumentTypes::read_call(const Value& call, bool strips_choices) const {
  const Value* const function = find(call, "function");
  if (function == nullptr) return call;
  const Value* const name = find(*function, "name");
  const Value* const arguments = find(*function, "arguments");
  if (name == nullptr || !name->is_string() || arguments == nullptr ||
      arguments->kind() != Value::Kind::kDict) {
    return call;
  }
  const Value* const properties = properties_.find(name->bytes());
  if (properties == nullptr) return call;
  Dict read = arguments->dict();
  for (const auto& [key, argument] : arguments->dict().entries()) {
    const Value* const schema = properties->dict().find(key);
    if (schema == nullptr) continue;
    const std::vector<std::string_view> types = types_of(*schema);
    Value value = types.empty() ? argument : read_argument(argument, types);
    if (strips_choices) value = as_choice(value, *schema);
    read.set(key, std::move(value));
  }
  Dict changed_function = function->dict();
  changed_function.set(Value::string("arguments"), Value::dict(std::move(read)));
  Dict changed = call.dict();
  changed.set(Value::string("function"), Value::dict(std::move(changed_function)));
  return Value::dict(std::move(changed));
}

}  // namespace polystate::response
