#include "core/json.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json_path.h"
#include "core/plain_numbers.h"
#include "core/text.h"
#include "core/utf8.h"
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

// Receives the library's events, which calls these functions by their names, and builds the value
// or gives its parts to sinks. Each event returns whether to go on.
class JsonBuilder {
 public:
  JsonBuilder(const JsonLimits& limits, std::span<const JsonSinkPlace> sinks)
      : limits_(limits), sinks_(sinks) {}

  bool null() { return add(Json{nullptr}); }
  bool boolean(bool value) { return add(Json{value}); }
  bool number_integer(std::int64_t value) {
    return sink_ != nullptr ? expect(sink_->number(static_cast<double>(value))) : add(Json{value});
  }
  // The library's name for whole numbers without a sign.
  bool number_unsigned(std::uint64_t value) {
    if (std::in_range<std::int64_t>(value)) return number_integer(static_cast<std::int64_t>(value));
    return sink_ != nullptr ? expect(sink_->number(static_cast<double>(value))) : add(Json{value});
  }
  bool number_float(double value, const std::string& text) {
    // The parser hands integers of more than 64 bits over as doubles.
    if (!limits_.rounds_large_integers && text.find_first_of(".eE") == std::string::npos) {
      return fail("the number " + shortened(text) + " does not fit 64 bits");
    }
    return sink_ != nullptr ? expect(sink_->number(value)) : add(Json{value});
  }
  bool string(std::string& value) {
    return sink_ != nullptr ? expect(sink_->string(value)) : add(Json{std::move(value)});
  }
  bool binary(nlohmann::json::binary_t& /*value*/) { return fail("binary data"); }
  bool key(std::string& name) {
    if (sink_ != nullptr) return expect(sink_->key(name));
    open_.back().name = std::move(name);
    return true;
  }

  bool start_object(std::size_t /*size*/) {
    if (sink_ != nullptr) return expect(false);
    return open(false);
  }
  bool start_array(std::size_t /*size*/) {
    if (sink_ == nullptr) return open(true);
    ++arrays_in_sink_;
    return expect(sink_->begin_array());
  }
  bool end_array() {
    if (sink_ != nullptr) return end_in_sink();
    return close(Json{std::move(open_.back().elements)});
  }
  bool end_object() {
    if (sink_ != nullptr) return end_in_sink();
    std::string repeated;
    JsonObject object(std::move(open_.back().members), &repeated);
    const bool has_repeated = object.size() < open_.back().count;
    if (has_repeated && !limits_.names_may_repeat) {
      return fail("the key " + in_quotes(repeated) + " occurs twice", open_.size() - 1);
    }
    return close(Json{std::move(object)});
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::json::exception& exception) {
    error_ = Error{ErrorCode::kArtifact, syntax_message(exception.what())};
    return false;
  }

  Result<Json> take() {
    if (error_) return *std::move(error_);
    return std::move(root_);
  }

 private:
  // An array or object whose end has not come yet.
  struct Open {
    bool is_array;
    Json::Array elements = {};
    std::vector<JsonMember> members = {};
    std::size_t count = 0;  // of either
    std::string name = {};  // of the member that comes next, in an object
  };

  bool open(bool is_array) {
    for (const JsonSinkPlace& place : sinks_) {
      if (!is_at(place)) continue;
      sink_ = place.sink;
      sink_->start();
      return true;
    }
    if (open_.size() == limits_.max_depth) {
      return fail("values are nested deeper than " + std::to_string(limits_.max_depth));
    }
    if (!count()) return false;
    open_.push_back({.is_array = is_array});
    return true;
  }

  // Whether the value that begins is the one of `place`.
  [[nodiscard]] bool is_at(const JsonSinkPlace& place) const {
    return std::equal(open_.begin(), open_.end(), place.names.begin(), place.names.end(),
                      [](const Open& open, std::string_view name) {
                        return !open.is_array && open.name == name;
                      });
  }

  bool close(Json json) {
    open_.pop_back();
    put(std::move(json));
    return true;
  }

  bool end_in_sink() {
    if (arrays_in_sink_ == 0) {
      sink_ = nullptr;
      return true;
    }
    --arrays_in_sink_;
    return expect(sink_->end_array());
  }

  bool add(Json json) {
    if (sink_ != nullptr) return expect(false);
    if (!count()) return false;
    put(std::move(json));
    return true;
  }

  bool count() {
    ++values_;
    return values_ <= limits_.max_values ||
           fail("the document has more than " + std::to_string(limits_.max_values) + " values");
  }

  void put(Json json) {
    if (open_.empty()) {
      root_ = std::move(json);
      return;
    }
    Open& parent = open_.back();
    ++parent.count;
    if (parent.is_array) {
      parent.elements.push_back(std::move(json));
    } else {
      parent.members.push_back({std::move(parent.name), std::move(json)});
    }
  }

  // Records an error where the sink did not take what it was given.
  bool expect(bool is_taken) { return is_taken || fail(sink_->problem()); }

  // Records an error at the value that is next in the innermost of the first `depth` open ones.
  bool fail(const std::string& message) { return fail(message, open_.size()); }
  bool fail(const std::string& message, std::size_t depth) {
    std::string steps;
    for (const Open& open : std::span(open_).first(depth)) {
      steps += open.is_array ? json_step(open.count) : json_step(open.name);
    }
    error_ = Error{ErrorCode::kArtifact, json_place({}, steps) + message};
    return false;
  }

  const JsonLimits& limits_;
  std::span<const JsonSinkPlace> sinks_;
  JsonSink* sink_ = nullptr;        // which is given the values at the moment
  std::size_t arrays_in_sink_ = 0;  // open ones
  std::vector<Open> open_;          // the innermost last
  std::size_t values_ = 0;
  Json root_;
  std::optional<Error> error_;
};

// A string in quotes, with everything but printable ASCII escaped.
std::string string_text(std::string_view text) {
  constexpr std::size_t kLongest = 120;
  std::string_view start = text.substr(0, kLongest);
  if (start.size() < text.size()) start = start.substr(0, valid_prefix(start));
  const std::string shown = nlohmann::json(start).dump(-1, ' ', /*ensure_ascii=*/true,
                                                       nlohmann::json::error_handler_t::replace);
  return start.size() < text.size() ? shown + "..." : shown;
}

// One member for each name, where `by_name` has those of one name together, the last one last.
std::vector<JsonMember> with_last_values(std::vector<JsonMember> members,
                                         std::span<const std::uint32_t> by_name) {
  std::vector<bool> is_kept(members.size());
  JsonMember* first = nullptr;  // of those with its name
  for (const std::uint32_t i : by_name) {
    if (first != nullptr && first->name == members[i].name) {
      first->value = std::move(members[i].value);
    } else {
      first = &members[i];
      is_kept[i] = true;
    }
  }
  std::vector<JsonMember> kept;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (is_kept[i]) kept.push_back(std::move(members[i]));
  }
  return kept;
}

struct Describe {
  std::string operator()(std::nullptr_t /*null*/) const { return "null"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(std::uint64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    const std::string text = number_text(value);
    const bool looks_whole = text.find_first_not_of("-0123456789") == std::string::npos;
    return looks_whole ? text + ".0" : text;
  }
  std::string operator()(const std::string& value) const { return string_text(value); }
  std::string operator()(const Json::Array& value) const {
    return value.empty() ? "an empty array" : "an array of " + std::to_string(value.size());
  }
  std::string operator()(const Json::Object& value) const {
    return value.empty() ? "an empty object" : "an object";
  }
};

}  // namespace

JsonObject::JsonObject(std::vector<JsonMember> members, std::string* repeated)
    : members_(std::move(members)), by_name_(members_.size()) {
  const auto name_of = [this](std::uint32_t i) -> const std::string& { return members_[i].name; };
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::ranges::stable_sort(by_name_, {}, name_of);
  const auto same = std::ranges::adjacent_find(by_name_, {}, name_of);
  if (same == by_name_.end()) return;
  if (repeated != nullptr) *repeated = name_of(*same);
  *this = JsonObject(with_last_values(std::move(members_), by_name_));
}

const Json* JsonObject::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      by_name_, name, {}, [this](std::uint32_t i) { return std::string_view(members_[i].name); });
  if (found == by_name_.end() || members_[*found].name != name) return nullptr;
  return &members_[*found].value;
}

std::size_t JsonObject::size() const { return members_.size(); }
const JsonMember* JsonObject::begin() const { return members_.data(); }
const JsonMember* JsonObject::end() const { return members_.data() + members_.size(); }

Result<Json> parse_json(std::string_view text, const JsonLimits& limits,
                        std::span<const JsonSinkPlace> sinks) {
  // The library takes a NUL for the end and would not look at what follows.
  if (text.find('\0') != std::string_view::npos) {
    return Error{ErrorCode::kArtifact, "not JSON: there is a NUL byte"};
  }
  const PlainNumbers plain;
  JsonBuilder builder(limits, sinks);
  (void)nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

std::string described(const Json& json) { return std::visit(Describe{}, json.value); }

}  // namespace polystate
