#include "core/json_cursor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/json_path.h"
#include "core/names.h"
#include "core/text.h"
#include "core/utf8.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// The steps from one value to another, if that is in it. It is searched for when there is an error
// to report, so that cursors need not carry their way with them.
std::optional<std::string> steps_to(const Json& from, const Json& to) {
  if (&from == &to) return "";
  if (const Json::Array* const array = from.array()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      if (auto rest = steps_to((*array)[i], to)) return json_step(i) + *rest;
    }
  } else if (const Json::Object* const object = from.object()) {
    for (const JsonMember& member : *object) {
      if (auto rest = steps_to(member.value, to)) return json_step(member.name) + *rest;
    }
  }
  return std::nullopt;
}

std::string over(std::size_t count, std::string_view what, std::size_t limit) {
  return "has " + std::to_string(count) + " " + std::string(what) + "; the limit is " +
         std::to_string(limit);
}

}  // namespace

void JsonCursor::fail(const std::string& message, ErrorCode code) const {
  if (!ok()) return;
  const std::string steps = steps_to(*document_, *json_).value_or("");
  *status_ = Error{code, json_place(name_, steps) + message};
}

void JsonCursor::fail_as_not(std::string_view what) const {
  if (json_ != nullptr) fail("must be " + std::string(what) + ", is " + described(*json_));
}

// The value as T; nullptr, with an error, where the value is of another type.
template <typename T>
const T* JsonCursor::as(std::string_view what) const {
  if (json_ == nullptr) return nullptr;
  const T* value = std::get_if<T>(&json_->value);
  if (value == nullptr) fail_as_not(what);
  return value;
}

JsonCursor JsonCursor::at(const Json* json) const {
  JsonCursor cursor = *this;
  cursor.json_ = json;
  return cursor;
}

void JsonCursor::expect_keys(std::initializer_list<std::string_view> keys) const {
  const auto* object = as<Json::Object>("an object");
  if (object == nullptr) return;
  for (const JsonMember& member : *object) {
    if (std::find(keys.begin(), keys.end(), member.name) == keys.end()) {
      fail("the key " + in_quotes(member.name) + " is unknown");
    }
  }
  for (const std::string_view key : keys) {
    if (object->find(key) == nullptr) fail("the key " + in_quotes(key) + " is missing");
  }
}

JsonCursor JsonCursor::operator[](std::string_view key) const {
  const auto* object = as<Json::Object>("an object");
  const Json* value = object == nullptr ? nullptr : object->find(key);
  if (object != nullptr && value == nullptr) fail("the key " + in_quotes(key) + " is missing");
  return at(value);
}

std::optional<JsonCursor> JsonCursor::optional(std::string_view key) const {
  const auto* object = as<Json::Object>("an object");
  const Json* value = object == nullptr ? nullptr : object->find(key);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return at(value);
}

std::vector<std::pair<std::string_view, JsonCursor>> JsonCursor::fields(std::size_t limit) const {
  const auto* object = as<Json::Object>("an object");
  if (object == nullptr) return {};
  if (object->size() > limit) {
    fail(over(object->size(), "entries", limit));
    return {};
  }
  std::vector<std::pair<std::string_view, JsonCursor>> fields;
  fields.reserve(object->size());
  for (const JsonMember& member : *object) fields.emplace_back(member.name, at(&member.value));
  return fields;
}

std::vector<JsonCursor> JsonCursor::elements(std::size_t limit) const {
  const auto* array = as<Json::Array>("an array");
  if (array == nullptr) return {};
  if (array->size() > limit) {
    fail(over(array->size(), "elements", limit));
    return {};
  }
  std::vector<JsonCursor> cursors;
  cursors.reserve(array->size());
  for (const Json& element : *array) cursors.push_back(at(&element));
  return cursors;
}

JsonCursor JsonCursor::element(std::size_t index) const {
  const auto* array = as<Json::Array>("an array");
  const Json* value = array == nullptr || index >= array->size() ? nullptr : &(*array)[index];
  if (array != nullptr && value == nullptr) fail("has no element " + std::to_string(index));
  return at(value);
}

bool JsonCursor::boolean() const {
  const bool* value = as<bool>("true or false");
  return value != nullptr && *value;
}

// The value of an integer that 64 bits with a sign hold.
std::optional<std::int64_t> JsonCursor::any_integer() const {
  if (is<std::uint64_t>()) {
    fail("is " + described(*json_) + "; the largest allowed is " + std::to_string(kLargest));
    return std::nullopt;
  }
  const auto* value = as<std::int64_t>("an integer");
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::int64_t JsonCursor::integer(std::int64_t min, std::int64_t max) const {
  const std::optional<std::int64_t> value = any_integer();
  if (!value) return min;
  if (*value < min) {
    fail("is " + std::to_string(*value) + "; the smallest allowed is " + std::to_string(min));
    return min;
  }
  if (*value > max) {
    fail("is " + std::to_string(*value) + "; the largest allowed is " + std::to_string(max));
    return min;
  }
  return *value;
}

std::size_t JsonCursor::index(std::size_t count, std::string_view of_what) const {
  const std::optional<std::int64_t> value = any_integer();
  if (!value) return 0;
  if (*value >= 0 && static_cast<std::uint64_t>(*value) < count) {
    return static_cast<std::size_t>(*value);
  }
  const std::string what(of_what);
  fail("is " + std::to_string(*value) +
       (count == 0 ? "; there are no " + what
                   : "; it must be below " + std::to_string(count) + ", the number of " + what));
  return 0;
}

double JsonCursor::number() const {
  if (is<std::int64_t>()) return static_cast<double>(std::get<std::int64_t>(json_->value));
  if (is<std::uint64_t>()) return static_cast<double>(std::get<std::uint64_t>(json_->value));
  const auto* value = as<double>("a number");
  return value == nullptr ? 0 : *value;
}

double JsonCursor::nonnegative_number() const {
  const double value = number();
  if (value < 0) fail("is " + described(*json_) + "; it must not be negative");
  return value;
}

std::string JsonCursor::string() const {
  const auto* value = as<std::string>("a string");
  return value == nullptr ? std::string() : *value;
}

std::string JsonCursor::character() const {
  std::string value = string();
  if (ok() && count_characters(value) != 1) fail_as_not("one character");
  return value;
}

std::string JsonCursor::text() const {
  const auto* value = as<std::string>("a string");
  if (value == nullptr) return {};
  if (!is_printable(*value)) fail("the text " + described(*json_) + " has control characters");
  return *value;
}

std::string JsonCursor::nonempty_text() const {
  std::string value = text();
  if (value.empty()) fail("must not be empty");
  return value;
}

std::string JsonCursor::name(bool (*accepts)(std::string_view), std::string_view what) const {
  const auto* value = as<std::string>("a string");
  if (value == nullptr) return {};
  if (!accepts(*value)) fail(described(*json_) + " is not " + std::string(what));
  return *value;
}

std::string JsonCursor::identifier() const { return name(is_identifier, "an identifier"); }

std::string JsonCursor::dotted_name() const {
  return name(is_dotted_name, "a name (words with dots between)");
}

std::string JsonCursor::file_name() const {
  return name(is_file_name, "a file name (letters, digits, '.', '_' and '-')");
}

bool JsonCursor::boolean(std::string_view key, bool otherwise) const {
  const auto found = optional(key);
  return found ? found->boolean() : otherwise;
}

std::uint64_t JsonCursor::size(std::string_view key, std::uint64_t otherwise) const {
  const auto found = optional(key);
  return found ? found->size() : otherwise;
}

std::string JsonCursor::string(std::string_view key, std::string_view otherwise) const {
  const auto found = optional(key);
  return found ? found->string() : std::string(otherwise);
}

}  // namespace polystate
