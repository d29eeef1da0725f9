#include "artifact/json.h"

#include <algorithm>
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

#include "artifact/json_path.h"
#include "core/plain_numbers.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// What the library says about a syntax error, less its own codes and the bytes of the document
// (which may be anything).
std::string syntax_message(std::string_view what) {
  const std::size_t code_end = what.find("] ");
  if (code_end != std::string_view::npos) what.remove_prefix(code_end + 2);
  const std::size_t last_read = what.find("; last read");
  if (last_read != std::string_view::npos) what = what.substr(0, last_read);
  return "not JSON: " + shortened(what);
}

// Receives the parser's events and builds the value. Every event returns whether to go on.
class Builder {
 public:
  bool null() { return add(Json{nullptr}); }
  bool boolean(bool value) { return add(Json{value}); }
  bool number_integer(std::int64_t value) { return add(Json{value}); }
  bool number_unsigned(std::uint64_t value) {
    constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value > kLargest) {
      return fail("the number " + std::to_string(value) + " does not fit 64 bits");
    }
    return add(Json{static_cast<std::int64_t>(value)});
  }
  bool number_float(double value, const std::string& text) {
    // The parser hands integers of more than 64 bits over as doubles.
    if (text.find_first_of(".eE") == std::string::npos) {
      return fail("the number " + shortened(text) + " does not fit 64 bits");
    }
    return add(Json{value});
  }
  bool string(std::string& value) { return add(Json{std::move(value)}); }
  bool binary(nlohmann::json::binary_t& /*value*/) { return fail("binary data"); }
  bool start_object(std::size_t /*size*/) { return open(Json{Json::Object{}}); }
  bool start_array(std::size_t /*size*/) { return open(Json{Json::Array{}}); }
  bool key(std::string& name) {
    open_.back().key = std::move(name);
    return true;
  }
  bool end_array() { return close(); }
  bool end_object() {
    auto& members = std::get<Json::Object>(open_.back().json.value);
    std::sort(members.begin(), members.end(),
              [](const Json::Member& a, const Json::Member& b) { return a.name < b.name; });
    const auto twice = std::adjacent_find(
        members.begin(), members.end(),
        [](const Json::Member& a, const Json::Member& b) { return a.name == b.name; });
    if (twice != members.end()) {
      return fail("the key " + in_quotes(twice->name) + " occurs twice", open_.size() - 1);
    }
    return close();
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& exception) {
    error_ = Error{ErrorCode::kArtifact, syntax_message(exception.what())};
    return false;
  }

  Result<Json> take() {
    if (error_) return std::move(*error_);
    return std::move(root_);
  }

 private:
  // An array or object whose end has not come yet.
  struct Open {
    Json json;
    std::string key;  // of the member that comes next, in an object
  };

  bool open(Json json) {
    if (open_.size() == Json::kMaxDepth) {
      return fail("values are nested deeper than " + std::to_string(Json::kMaxDepth));
    }
    if (!count()) return false;
    open_.push_back({std::move(json), {}});
    return true;
  }

  bool close() {
    Json json = std::move(open_.back().json);
    open_.pop_back();
    place(std::move(json));
    return true;
  }

  bool add(Json json) {
    if (!count()) return false;
    place(std::move(json));
    return true;
  }

  bool count() {
    ++values_;
    return values_ <= Json::kMaxValues ||
           fail("the document has more than " + std::to_string(Json::kMaxValues) + " values");
  }

  void place(Json json) {
    if (open_.empty()) {
      root_ = std::move(json);
    } else if (auto* array = std::get_if<Json::Array>(&open_.back().json.value)) {
      array->push_back(std::move(json));
    } else {
      std::get<Json::Object>(open_.back().json.value)
          .push_back({std::move(open_.back().key), std::move(json)});
    }
  }

  // Records an error at the value that is next in the innermost of the first `depth` open ones.
  bool fail(const std::string& message) { return fail(message, open_.size()); }
  bool fail(const std::string& message, std::size_t depth) {
    JsonPath path;
    for (std::size_t i = 0; i < depth; ++i) {
      const auto* array = std::get_if<Json::Array>(&open_[i].json.value);
      path = array != nullptr ? path.element(array->size()) : path.member(open_[i].key);
    }
    error_ = Error{ErrorCode::kArtifact, path.prefix() + message};
    return false;
  }

  std::vector<Open> open_;
  std::size_t values_ = 0;
  Json root_;
  std::optional<Error> error_;
};

}  // namespace

Result<Json> Json::parse(std::string_view text) {
  // The library takes a NUL for the end and would not look at what follows.
  if (text.find('\0') != std::string_view::npos) {
    return Error{ErrorCode::kArtifact, "not JSON: there is a NUL byte"};
  }
  const PlainNumbers plain;
  Builder builder;
  (void)nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace polystate
