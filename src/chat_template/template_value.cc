#include "polystate/chat_template/template_value.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/json_text.h"
#include "chat_template/json_value.h"
#include "chat_template/rendering.h"
#include "chat_template/text.h"
#include "chat_template/value.h"
#include "core/json.h"
#include "core/utf8.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Origin;
using chat_template::Text;
using chat_template::Value;

Result<TemplateValue> checked(Value value) {
  if (value.depth() <= TemplateValue::kMaxDepth) return TemplateValue(std::move(value));
  return Error{
      ErrorCode::kContract,
      "values are more than " + std::to_string(TemplateValue::kMaxDepth) + " deep in one another"};
}

Elements elements_of(const std::vector<TemplateValue>& values) {
  Elements elements;
  elements.reserve(values.size());
  for (const TemplateValue& value : values) elements.push_back(value.value());
  return elements;
}

}  // namespace

TemplateValue::TemplateValue() = default;
TemplateValue::TemplateValue(Value value) : value_(std::make_unique<Value>(std::move(value))) {}
TemplateValue::TemplateValue(const TemplateValue& other)
    : value_(other.value_ == nullptr ? nullptr : std::make_unique<Value>(*other.value_)) {}
TemplateValue::TemplateValue(TemplateValue&& other) noexcept = default;
TemplateValue& TemplateValue::operator=(const TemplateValue& other) {
  if (this != &other) *this = TemplateValue(other);
  return *this;
}
TemplateValue& TemplateValue::operator=(TemplateValue&& other) noexcept = default;
TemplateValue::~TemplateValue() = default;

const Value& TemplateValue::value() const {
  static const Value kNone{};
  return value_ == nullptr ? kNone : *value_;
}

TemplateValue TemplateValue::boolean(bool value) {
  return TemplateValue(Value::boolean(value, Origin::kUser));
}
TemplateValue TemplateValue::integer(std::int64_t value) {
  return TemplateValue(Value::integer(value, Origin::kUser));
}
TemplateValue TemplateValue::real(double value) {
  return TemplateValue(Value::real(value, Origin::kUser));
}
TemplateValue TemplateValue::string(std::string_view text, bool trusted) {
  return TemplateValue(
      Value::string(Text(repaired_utf8(text), trusted ? Origin::kTemplate : Origin::kUser)));
}

TemplateValue TemplateValue::answer(std::string_view text) {
  return TemplateValue(Value::string(Text(repaired_utf8(text), Origin::kAnswer)));
}

Result<TemplateValue> TemplateValue::list(const std::vector<TemplateValue>& elements) {
  return checked(Value::list(elements_of(elements)));
}

Result<TemplateValue> TemplateValue::tuple(const std::vector<TemplateValue>& elements) {
  return checked(Value::tuple(elements_of(elements)));
}

Result<TemplateValue> TemplateValue::dict(
    const std::vector<std::pair<TemplateValue, TemplateValue>>& entries) {
  Dict dict;
  for (const auto& [key, value] : entries) {
    if (!is_hashable(key.value()))
      return Error{ErrorCode::kContract, "a key of a dictionary is a " + key.value().type_name()};
    dict.set(key.value(), value.value());
  }
  return checked(Value::dict(std::move(dict)));
}

Result<TemplateValue> TemplateValue::parse_json(std::string_view document) {
  Result<Json> json = polystate::parse_json(document);
  if (!json) return Error{ErrorCode::kContract, json.error().message};
  return TemplateValue(value_of(*json, Origin::kUser));
}

Result<std::string> TemplateValue::to_json() const {
  const Dict no_variables;
  const RenderOptions options;
  chat_template::Rendering rendering(no_variables, options);
  const chat_template::JsonStyle style = {.ensure_ascii = false,
                                          .indent = std::nullopt,
                                          .item_separator = Text(", ", Origin::kTemplate),
                                          .key_separator = Text(": ", Origin::kTemplate),
                                          .sort_keys = false};
  const Text text = chat_template::json_of(rendering, value(), style);
  if (rendering.failed()) return rendering.status().error();
  return std::string(text.bytes());
}

bool operator==(const TemplateValue& left, const TemplateValue& right) {
  return equal(left.value(), right.value());
}

}  // namespace polystate
