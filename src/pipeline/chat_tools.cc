#include "pipeline/chat_tools.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/python_text.h"
#include "chat_template/value.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Value;

constexpr std::size_t kMaxNameBytes = 128;
constexpr auto kTypes = std::to_array<std::string_view>(
    {"string", "number", "integer", "boolean", "object", "array", "null"});

Error refused(const std::string& place, const std::string& why) {
  return {ErrorCode::kContract, place + " " + why};
}

const Value* find(const Value& value, std::string_view name) {
  return value.kind() == Value::Kind::kDict ? value.dict().find(name) : nullptr;
}

Status check_schema(const Value& schema, const std::string& place);

Status check_type(const Value& type, const std::string& place) {
  if (type.is_string()) {
    if (std::ranges::find(kTypes, type.bytes()) != kTypes.end()) return {};
    return refused(
        place, "is " + chat_template::quoted(type.bytes()) + ", which is no type of a JSON schema");
  }
  if (!type.is_sequence()) return refused(place, "must be a type, is a " + type.type_name());
  for (const Value& each : type.elements()) {
    if (!each.is_string()) return refused(place, "must be types, one is a " + each.type_name());
    if (const Status checked = check_type(each, place); !checked) return checked;
  }
  return {};
}

Status check_named(const Value& schemas, const std::string& place) {
  if (schemas.kind() != Value::Kind::kDict)
    return refused(place, "must be a dictionary of schemas, is a " + schemas.type_name());
  for (const auto& [name, schema] : schemas.dict().entries()) {
    if (!name.is_string()) return refused(place, "has a name that is a " + name.type_name());
    const Status checked = check_schema(schema, place + "." + std::string(name.bytes()));
    if (!checked) return checked;
  }
  return {};
}

Status check_texts(const Value& texts, const std::string& place) {
  const bool are_texts =
      texts.is_sequence() && std::ranges::all_of(texts.elements(), &Value::is_string);
  return are_texts ? Status() : refused(place, "must be a list of names");
}

Status check_list(const Value& schemas, const std::string& place) {
  if (!schemas.is_sequence() || schemas.elements().empty())
    return refused(place, "must be a list of schemas that is not empty");
  for (const Value& schema : schemas.elements()) {
    if (const Status checked = check_schema(schema, place); !checked) return checked;
  }
  return {};
}

// The words that any schema's reader needs to be as they should; others are what they are.
Status check_schema(const Value& schema, const std::string& place) {
  if (schema.kind() == Value::Kind::kBoolean) return {};
  if (schema.kind() != Value::Kind::kDict)
    return refused(place, "must be a JSON schema, is a " + schema.type_name());
  using Check = Status (*)(const Value&, const std::string&);
  static constexpr std::array<std::pair<std::string_view, Check>, 8> kChecks = {
      {{"type", check_type},
       {"properties", check_named},
       {"$defs", check_named},
       {"required", check_texts},
       {"items", check_schema},
       {"anyOf", check_list},
       {"oneOf", check_list},
       {"allOf", check_list}}};
  for (const auto& [word, check] : kChecks) {
    const Value* const value = schema.dict().find(word);
    if (value == nullptr) continue;
    if (const Status checked = check(*value, place + "." + std::string(word)); !checked)
      return checked;
  }
  const Value* const choices = schema.dict().find("enum");
  if (choices == nullptr || (choices->is_sequence() && !choices->elements().empty())) return {};
  return refused(place + ".enum", "must be a list of values that is not empty");
}

// What templates and forms of calls may write a name between.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.' || static_cast<unsigned char>(c) >= 0x80;
  });
}

// What a function is called with, where that is said.
Status check_parameters(const Value& function, const std::string& place) {
  const Value* const parameters = find(function, "parameters");
  if (parameters == nullptr || parameters->is_none()) return {};
  if (const Status checked = check_schema(*parameters, place); !checked) return checked;
  const Value* const kind = find(*parameters, "type");
  const bool is_object = kind == nullptr || (kind->is_string() && kind->bytes() == "object");
  if (parameters->kind() == Value::Kind::kDict && is_object) return {};
  return refused(place, "must be a JSON schema of an object");
}

Result<Value> checked_tool(const Value& tool, const std::string& place) {
  if (tool.kind() != Value::Kind::kDict) {
    return refused(place,
                   "must be a dictionary with 'type' and 'function', is a " + tool.type_name());
  }
  const Value* const type = find(tool, "type");
  const Value* const wrapped = find(tool, "function");
  const bool is_bare = wrapped == nullptr && find(tool, "name") != nullptr;
  if (!is_bare && wrapped == nullptr) return refused(place, "has no 'function'");
  if (!is_bare && type != nullptr && !(type->is_string() && type->bytes() == "function"))
    return refused(place, "must have the type 'function'");
  const Value& function = is_bare ? tool : *wrapped;
  if (function.kind() != Value::Kind::kDict)
    return refused(place + ": 'function'", "must be a dictionary, is a " + function.type_name());
  const Value* const name = find(function, "name");
  if (name == nullptr) return refused(place, "has no name");
  if (!name->is_string() || !is_name(name->bytes())) {
    return refused(place, "must have a name of letters, digits, '_', '-' and '.', of at most " +
                              std::to_string(kMaxNameBytes) + " bytes");
  }
  const Status checked =
      check_parameters(function, place + " ('" + std::string(name->bytes()) + "'): parameters");
  if (!checked) return checked.error();
  if (!is_bare && type != nullptr) return tool;
  Dict whole;
  whole.set(Value::string("type"), TemplateValue::string("function").value());
  whole.set(Value::string("function"), function);
  return Value::dict(std::move(whole));
}

}  // namespace

Result<TemplateValue> checked_tools(const TemplateValue& tools) {
  const Value& given = tools.value();
  if (given.is_none()) return TemplateValue();
  if (!given.is_sequence())
    return Error{ErrorCode::kContract, "tools are a list, not a " + given.type_name()};
  if (given.elements().empty()) return TemplateValue();
  Elements checked;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < given.elements().size(); ++i) {
    const std::string place = "tool " + std::to_string(i);
    Result<Value> tool = checked_tool(given.elements()[i], place);
    if (!tool) return tool.error();
    const std::string_view name = find(*find(*tool, "function"), "name")->bytes();
    if (std::ranges::find(names, name) != names.end())
      return refused(place, "has the name '" + std::string(name) + "', which another tool has");
    names.emplace_back(name);
    checked.push_back(*std::move(tool));
  }
  return TemplateValue(Value::list(std::move(checked)));
}

std::vector<std::string> names_of_tools(const TemplateValue& tools) {
  std::vector<std::string> names;
  if (!tools.value().is_sequence()) return names;
  for (const Value& tool : tools.value().elements())
    names.emplace_back(find(*find(tool, "function"), "name")->bytes());
  return names;
}

Status check_tool_choice(std::string_view choice, const TemplateValue& tools) {
  if (choice == "auto" || choice == "none") return {};
  const std::vector<std::string> names = names_of_tools(tools);
  if (names.empty()) {
    return Error{ErrorCode::kContract,
                 "tool_choice is '" + std::string(choice) + "', and the conversation has no tools"};
  }
  if (choice == "required" || std::ranges::find(names, choice) != names.end()) return {};
  std::string all;
  for (const std::string& name : names) all += ", '" + name + "'";
  return Error{ErrorCode::kContract,
               "tool_choice is " + chat_template::quoted(choice) +
                   "; 'auto', 'none', 'required' or a tool's name is needed: " + all.substr(2)};
}

}  // namespace polystate
