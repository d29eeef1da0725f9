#include "tokenizer/loaders/json.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/plain_numbers.h"
#include "core/utf8.h"
#include "polystate/core/result.h"

namespace polystate::tokenizer {
namespace {

constexpr std::size_t kMaxDepth = 64;

const JsonValue kNull{nullptr};

// Builds values, or gives them to sinks, as nlohmann's parser meets them: it calls these by name.
class Builder {
 public:
  explicit Builder(const std::vector<JsonSinkPath>& sinks) : sinks_(sinks) {}

  bool null() { return sink_ == nullptr && put({nullptr}); }
  bool boolean(bool value) { return sink_ == nullptr && put({value}); }
  bool number_integer(std::int64_t value) {
    return sink_ != nullptr ? sink_->number(static_cast<double>(value)) : put({value});
  }
  bool number_unsigned(std::uint64_t value) {
    if (sink_ != nullptr) return sink_->number(static_cast<double>(value));
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      return put({static_cast<double>(value)});
    return put({static_cast<std::int64_t>(value)});
  }
  bool number_float(double value, const std::string& /*text*/) {
    return sink_ != nullptr ? sink_->number(value) : put({value});
  }
  bool string(std::string& value) {
    return sink_ != nullptr ? sink_->string(value) : put({std::move(value)});
  }
  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }
  bool key(std::string& key) {
    if (sink_ != nullptr) return sink_->key(key);
    keys_.back() = std::move(key);
    return true;
  }

  bool start_object(std::size_t /*size*/) { return start({JsonValue::Object()}); }
  bool end_object() { return end(); }
  bool start_array(std::size_t /*size*/) { return start({JsonValue::Array()}); }
  bool end_array() { return end(); }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& exception) {
    error_ = exception.what();
    return false;
  }

  [[nodiscard]] const std::string& error() const { return error_; }
  JsonValue take() { return std::move(root_); }

 private:
  // Puts a value where the text has it; returns its place.
  JsonValue* place(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (auto* const array = std::get_if<JsonValue::Array>(&open_.back()->content)) {
      array->push_back(std::move(value));
      return &array->back();
    }
    auto& object = std::get<JsonValue::Object>(open_.back()->content);
    object.emplace_back(keys_.back(), std::move(value));
    return &object.back().second;
  }
  bool put(JsonValue value) {
    place(std::move(value));
    return true;
  }

  bool start(JsonValue value) {
    if (sink_ != nullptr) {
      ++sink_depth_;
      return std::holds_alternative<JsonValue::Array>(value.content) && sink_->begin_array();
    }
    if (open_.size() == kMaxDepth) {
      error_ = "it is nested more than " + std::to_string(kMaxDepth) + " deep";
      return false;
    }
    if (open_.size() == 2) {
      for (const JsonSinkPath& path : sinks_) {
        if (keys_[0] == path.first && keys_[1] == path.second) {
          sink_ = path.sink;
          sink_->start();
          return true;
        }
      }
    }
    JsonValue* const placed = place(std::move(value));
    open_.push_back(placed);
    keys_.emplace_back();
    return true;
  }
  bool end() {
    if (sink_ != nullptr) {
      if (sink_depth_-- > 0) return sink_->end_array();
      sink_depth_ = 0;
      sink_ = nullptr;
      return true;
    }
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  const std::vector<JsonSinkPath>& sinks_;
  JsonSink* sink_ = nullptr;    // what is given the values at the moment
  std::size_t sink_depth_ = 0;  // arrays open within it
  JsonValue root_;
  std::vector<JsonValue*> open_;   // arrays and objects, the innermost last
  std::vector<std::string> keys_;  // the last key of each of them
  std::string error_;
};

}  // namespace

Result<JsonValue> parse_json(std::string_view text, const std::vector<JsonSinkPath>& sinks) {
  const PlainNumbers plain;
  Builder builder(sinks);
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return builder.take();
  return Error{ErrorCode::kArtifact,
               "it is not the JSON that was expected: " +
                   (builder.error().empty() ? "a value of a wrong type" : builder.error())};
}

void JsonCursor::fail(ErrorCode code, const std::string& why) const {
  if (ok()) *status_ = Error{code, path_ + ": " + why};
}

bool JsonCursor::is_null() const { return std::holds_alternative<std::nullptr_t>(value_->content); }
bool JsonCursor::is_string() const { return std::holds_alternative<std::string>(value_->content); }
bool JsonCursor::is_object() const {
  return std::holds_alternative<JsonValue::Object>(value_->content);
}

template <typename T>
const T* JsonCursor::expect(std::string_view type) const {
  const T* const value = std::get_if<T>(&value_->content);
  if (value == nullptr) fail(ErrorCode::kArtifact, "it must be " + std::string(type));
  return value;
}

std::optional<JsonCursor> JsonCursor::optional(std::string_view key) const {
  const auto* const object = std::get_if<JsonValue::Object>(&value_->content);
  if (object == nullptr) return std::nullopt;
  for (std::size_t i = object->size(); i > 0; --i) {
    const auto& [name, value] = (*object)[i - 1];
    if (name != key) continue;
    JsonCursor found(value, path_.empty() ? name : path_ + "." + name, *status_);
    if (found.is_null()) return std::nullopt;
    return found;
  }
  return std::nullopt;
}

JsonCursor JsonCursor::field(std::string_view key) const {
  if (const auto found = optional(key)) return *found;
  fail(ErrorCode::kArtifact, "'" + std::string(key) + "' is missing");
  return {kNull, path_ + "." + std::string(key), *status_};
}

std::vector<JsonCursor> JsonCursor::elements() const {
  std::vector<JsonCursor> elements;
  const auto* const array = expect<JsonValue::Array>("an array");
  if (array == nullptr) return elements;
  for (std::size_t i = 0; i < array->size(); ++i)
    elements.emplace_back((*array)[i], path_ + "[" + std::to_string(i) + "]", *status_);
  return elements;
}

std::vector<std::pair<std::string, JsonCursor>> JsonCursor::fields() const {
  std::vector<std::pair<std::string, JsonCursor>> fields;
  const auto* const object = expect<JsonValue::Object>("an object");
  if (object == nullptr) return fields;
  for (const auto& [name, value] : *object)
    fields.emplace_back(name, JsonCursor(value, path_ + "." + name, *status_));
  return fields;
}

std::string JsonCursor::string() const {
  const auto* const value = expect<std::string>("a string");
  return value == nullptr ? std::string() : *value;
}

bool JsonCursor::boolean() const {
  const auto* const value = expect<bool>("true or false");
  return value != nullptr && *value;
}

std::uint64_t JsonCursor::size() const {
  const auto* const value = expect<std::int64_t>("a whole number");
  if (value == nullptr) return 0;
  if (*value < 0) fail(ErrorCode::kArtifact, "it is " + std::to_string(*value));
  return static_cast<std::uint64_t>(*value);
}

std::uint32_t JsonCursor::id() const {
  const std::uint64_t value = size();
  if (value > std::numeric_limits<std::uint32_t>::max())
    fail(ErrorCode::kArtifact, "it is " + std::to_string(value) + ", which has over 32 bits");
  return static_cast<std::uint32_t>(value);
}

std::string JsonCursor::character() const {
  std::string value = string();
  if (ok() && count_characters(value) != 1)
    fail(ErrorCode::kArtifact, "it must be one character, and is '" + value + "'");
  return value;
}

bool JsonCursor::boolean(std::string_view key, bool otherwise) const {
  const auto found = optional(key);
  return found ? found->boolean() : otherwise;
}

std::uint64_t JsonCursor::size(std::string_view key, std::uint64_t otherwise) const {
  const auto found = optional(key);
  return found ? found->size() : otherwise;
}

}  // namespace polystate::tokenizer
