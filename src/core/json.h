#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

struct Json;
struct JsonMember;

// The members of a JSON object, in the order of the document; each name once.
class JsonObject {
 public:
  JsonObject() = default;
  // Of members with one name the last one's value stays, in the place of the first, as in Python's
  // dictionaries. `repeated` is given such a name, where there is one.
  explicit JsonObject(std::vector<JsonMember> members, std::string* repeated = nullptr);

  // The value of a name; nullptr where there is none. Takes time logarithmic in the size.
  [[nodiscard]] const Json* find(std::string_view name) const;

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const JsonMember* begin() const;
  [[nodiscard]] const JsonMember* end() const;

 private:
  std::vector<JsonMember> members_;
  std::vector<std::uint32_t> by_name_;  // indices of members_, by their names
};

// A JSON value (RFC 8259). Whole numbers are kept apart from other numbers.
struct Json {
  using Array = std::vector<Json>;
  using Object = JsonObject;

  // std::uint64_t: whole numbers that std::int64_t does not hold, alone.
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value;

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::nullptr_t>(value); }
  // The value as one of these; nullptr where it is another.
  [[nodiscard]] const Array* array() const { return std::get_if<Array>(&value); }
  [[nodiscard]] const Object* object() const { return std::get_if<Object>(&value); }
};

struct JsonMember {
  std::string name;
  Json value;
};

// What a document may be.
struct JsonLimits {
  std::size_t max_depth = 128;  // of arrays and objects in one another
  // Of the values, except those that sinks receive.
  std::size_t max_values = std::size_t{2} * 1024 * 1024;
  bool names_may_repeat = false;       // in an object: see JsonObject
  bool rounds_large_integers = false;  // of over 64 bits to doubles, where it is an error otherwise
};

// Receives what a large array or object holds while it is read, in place of a Json. Values are
// given as they are written: for each element its name (in an object), then strings and numbers,
// and nested arrays as begin_array and end_array. A false answer ends reading with an error.
class JsonSink {
 public:
  virtual ~JsonSink() = default;
  virtual void start() {}  // the array or object begins
  virtual bool key(const std::string& key) = 0;
  virtual bool string(const std::string& value) = 0;
  virtual bool number(double value) = 0;
  virtual bool begin_array() = 0;
  virtual bool end_array() = 0;
  // Why the last answer was false, for the message of the error.
  [[nodiscard]] virtual std::string problem() const = 0;
};

// Where a sink takes the place of an array or object: {"model", "vocab"}; {}: the whole document.
struct JsonSinkPlace {
  std::vector<std::string_view> names;
  JsonSink* sink;
};

// Parses a whole UTF-8 document, strictly: a number beyond the finite doubles, and anything after
// the value are errors. kArtifact with the place. A value that a sink takes is not in the Json.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {},
                        std::span<const JsonSinkPlace> sinks = {});

// A value as messages show it: 4.0, "never", an array of 3, an object.
std::string described(const Json& json);

}  // namespace polystate
