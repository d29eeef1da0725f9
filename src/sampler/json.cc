#include "sampler/json.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/plain_numbers.h"
#include "polystate/core/result.h"

namespace polystate::sampler {
namespace {

constexpr std::size_t kMaxDepth = 16;
constexpr std::size_t kMaxQuoted = 40;  // bytes of the text's own that a message repeats

// Builds the value from the events of nlohmann's parser, which calls these by name. Every event
// says whether to go on.
class Builder {
 public:
  bool null() { return put({nullptr}); }
  bool boolean(bool value) { return put({value}); }
  bool number_integer(std::int64_t value) { return put({value}); }
  bool number_unsigned(std::uint64_t value) {
    constexpr auto kSigned = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value > kSigned) return put({value});
    return put({static_cast<std::int64_t>(value)});
  }
  bool number_float(double value, const std::string& /*text*/) { return put({value}); }
  bool string(std::string& value) { return put({std::move(value)}); }
  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }
  bool key(std::string& key) {
    open_.back().key = std::move(key);
    return true;
  }
  bool start_object(std::size_t /*size*/) { return open({JsonValue::Object()}); }
  bool start_array(std::size_t /*size*/) { return open({JsonValue::Array()}); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*exception*/) {
    error_ = "it is not JSON from byte " + std::to_string(position) + " on";
    return false;
  }

  [[nodiscard]] const std::string& error() const { return error_; }
  JsonValue take() { return std::move(root_); }

 private:
  // An array or object whose end has not come yet.
  struct Open {
    JsonValue value;
    std::string key;  // of the member that comes next, in an object
  };

  bool open(JsonValue value) {
    if (open_.size() == kMaxDepth) {
      error_ = "it is nested more than " + std::to_string(kMaxDepth) + " deep";
      return false;
    }
    open_.push_back({std::move(value), {}});
    return true;
  }
  bool close() {
    JsonValue value = std::move(open_.back().value);
    open_.pop_back();
    return put(std::move(value));
  }
  bool put(JsonValue value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (auto* const array = std::get_if<JsonValue::Array>(&open_.back().value.content)) {
      array->push_back(std::move(value));
    } else {
      std::get<JsonValue::Object>(open_.back().value.content)
          .push_back({std::move(open_.back().key), std::move(value)});
    }
    return true;
  }

  JsonValue root_;
  std::vector<Open> open_;  // the innermost last
  std::string error_;
};

struct Describe {
  std::string operator()(std::nullptr_t /*null*/) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    return std::isfinite(value) ? nlohmann::json(value).dump() : std::to_string(value);
  }
  std::string operator()(const std::string& value) const {
    if (value.size() > kMaxQuoted) return "a string of " + std::to_string(value.size()) + " bytes";
    using ErrorHandler = nlohmann::json::error_handler_t;
    return nlohmann::json(value).dump(-1, ' ', true, ErrorHandler::replace);
  }
  std::string operator()(const JsonValue::Array& value) const {
    return "a list of " + std::to_string(value.size());
  }
  std::string operator()(const JsonValue::Object& /*value*/) const { return "an object"; }
};

}  // namespace

bool JsonValue::is_null() const { return std::holds_alternative<std::nullptr_t>(content); }
const JsonValue::Array* JsonValue::array() const { return std::get_if<Array>(&content); }
const JsonValue::Object* JsonValue::object() const { return std::get_if<Object>(&content); }

Result<JsonValue> parse_json(std::string_view text) {
  const PlainNumbers plain;
  Builder builder;
  if (nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return builder.take();
  return Error{ErrorCode::kArtifact, builder.error()};
}

std::string described(const JsonValue& value) { return std::visit(Describe(), value.content); }

}  // namespace polystate::sampler
