#include "artifact/json_cursor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "artifact/json.h"
#include "artifact/json_path.h"
#include "artifact/names.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// A value as a message shows it.
struct Shown {
  std::string operator()(std::nullptr_t) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    std::array<char, 32> text{};
    const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end.ptr};
  }
  std::string operator()(const std::string& value) const { return in_quotes(value); }
  std::string operator()(const Json::Array& value) const {
    return value.empty() ? "an empty array" : "an array";
  }
  std::string operator()(const Json::Object& value) const {
    return value.empty() ? "an empty object" : "an object";
  }
};

std::string shown(const Json& json) { return std::visit(Shown{}, json.value); }

const Json* find(const Json::Object& object, std::string_view key) {
  const auto member =
      std::lower_bound(object.begin(), object.end(), key,
                       [](const Json::Member& m, std::string_view k) { return m.name < k; });
  return member != object.end() && member->name == key ? &member->value : nullptr;
}

}  // namespace

void JsonCursor::fail(const std::string& message, ErrorCode code) const {
  if (!*problem_) *problem_ = Error{code, path_.prefix() + message};
}

void JsonCursor::fail_as_not(std::string_view what) const {
  if (json_ != nullptr) fail("must be " + std::string(what) + ", is " + shown(*json_));
}

// The value as T; nullptr, with an error, where it is none.
template <typename T>
const T* JsonCursor::as(std::string_view what) const {
  if (json_ == nullptr) return nullptr;
  const T* value = std::get_if<T>(&json_->value);
  if (value == nullptr) fail_as_not(what);
  return value;
}

void JsonCursor::expect_keys(std::initializer_list<std::string_view> keys) const {
  const auto* object = as<Json::Object>("an object");
  if (object == nullptr) return;
  for (const Json::Member& member : *object) {
    if (std::find(keys.begin(), keys.end(), member.name) == keys.end()) {
      fail("the key " + in_quotes(member.name) + " is unknown");
    }
  }
  for (const std::string_view key : keys) {
    if (find(*object, key) == nullptr) fail("the key " + in_quotes(key) + " is missing");
  }
}

JsonCursor JsonCursor::operator[](std::string_view key) const {
  const auto* object = as<Json::Object>("an object");
  const Json* value = object == nullptr ? nullptr : find(*object, key);
  if (object != nullptr && value == nullptr) fail("the key " + in_quotes(key) + " is missing");
  return {value, path_.member(key), *problem_};
}

std::vector<std::string> JsonCursor::keys(std::size_t limit) const {
  const auto* object = as<Json::Object>("an object");
  if (object == nullptr) return {};
  if (object->size() > limit) {
    fail("has " + std::to_string(object->size()) + " entries; the limit is " +
         std::to_string(limit));
    return {};
  }
  std::vector<std::string> names;
  names.reserve(object->size());
  for (const Json::Member& member : *object) names.push_back(member.name);
  return names;
}

std::vector<JsonCursor> JsonCursor::elements(std::size_t limit) const {
  const auto* array = as<Json::Array>("an array");
  if (array == nullptr) return {};
  if (array->size() > limit) {
    fail("has " + std::to_string(array->size()) + " elements; the limit is " +
         std::to_string(limit));
    return {};
  }
  std::vector<JsonCursor> cursors;
  cursors.reserve(array->size());
  for (std::size_t i = 0; i < array->size(); ++i) {
    cursors.push_back(JsonCursor(&(*array)[i], path_.element(i), *problem_));
  }
  return cursors;
}

JsonCursor JsonCursor::element(std::size_t index) const {
  const auto* array = as<Json::Array>("an array");
  const Json* value = array == nullptr || index >= array->size() ? nullptr : &(*array)[index];
  if (array != nullptr && value == nullptr) fail("has no element " + std::to_string(index));
  return {value, path_.element(index), *problem_};
}

bool JsonCursor::boolean() const {
  const bool* value = as<bool>("true or false");
  return value != nullptr && *value;
}

std::int64_t JsonCursor::integer(std::int64_t min, std::int64_t max) const {
  const auto* value = as<std::int64_t>("an integer");
  if (value == nullptr) return min;
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
  const auto* value = as<std::int64_t>("an integer");
  if (value == nullptr) return 0;
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
  if (is_integer()) return static_cast<double>(std::get<std::int64_t>(json_->value));
  const auto* value = as<double>("a number");
  return value == nullptr ? 0 : *value;
}

double JsonCursor::nonnegative_number() const {
  const double value = number();
  if (value < 0) fail("is " + shown(*json_) + "; it must not be negative");
  return value;
}

std::string JsonCursor::any_text() const {
  const auto* value = as<std::string>("a string");
  return value == nullptr ? std::string() : *value;
}

std::string JsonCursor::text() const {
  const auto* value = as<std::string>("a string");
  if (value == nullptr) return {};
  if (!is_printable(*value)) fail("the text " + shown(*json_) + " has control characters");
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
  if (!accepts(*value)) fail(shown(*json_) + " is not " + std::string(what));
  return *value;
}

std::string JsonCursor::identifier() const { return name(is_identifier, "an identifier"); }

std::string JsonCursor::dotted_name() const {
  return name(is_dotted_name, "a name (words with dots between)");
}

std::string JsonCursor::file_name() const {
  return name(is_file_name, "a file name (letters, digits, '.', '_' and '-')");
}

}  // namespace polystate
