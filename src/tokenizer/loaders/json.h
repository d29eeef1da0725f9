#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::tokenizer {

// A value of a JSON file.
struct JsonValue {
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;  // a later key hides an equal one
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> content;
};

// Receives what a large array or object holds while it is read, in place of a JsonValue. Values are
// given as they are written: for each element the key (of an object), then strings and numbers, and
// nested arrays as begin_array and end_array. A false answer ends reading.
class JsonSink {
 public:
  virtual ~JsonSink() = default;
  virtual void start() {}  // the array or object begins
  virtual bool key(const std::string& key) = 0;
  virtual bool string(const std::string& value) = 0;
  virtual bool number(double value) = 0;
  virtual bool begin_array() = 0;
  virtual bool end_array() = 0;
};

// Where a sink takes the place of a value: "model", "vocab".
struct JsonSinkPath {
  std::string_view first;
  std::string_view second;
  JsonSink* sink;
};

// Reads a text. kArtifact when it is not JSON, is nested more than 64 deep, or a sink refuses
// something (which then says why itself).
Result<JsonValue> parse_json(std::string_view text, const std::vector<JsonSinkPath>& sinks);

// A value with the place where it was found, for reading fields. The first thing that is missing or
// of another type is stored in a status that all cursors share, and what is read then is empty.
class JsonCursor {
 public:
  JsonCursor(const JsonValue& value, std::string path, Status& status)
      : value_(&value), path_(std::move(path)), status_(&status) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool ok() const { return status_->has_value(); }
  // Stores an error: "<path>: <why>".
  void fail(ErrorCode code, const std::string& why) const;

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] bool is_string() const;
  [[nodiscard]] bool is_object() const;

  // A field of an object, unless it is missing or null.
  [[nodiscard]] std::optional<JsonCursor> optional(std::string_view key) const;
  // A field of an object that must be there.
  [[nodiscard]] JsonCursor field(std::string_view key) const;
  // The elements of an array.
  [[nodiscard]] std::vector<JsonCursor> elements() const;
  // The keys and values of an object.
  [[nodiscard]] std::vector<std::pair<std::string, JsonCursor>> fields() const;

  [[nodiscard]] std::string string() const;
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::uint64_t size() const;     // a whole number, not negative
  [[nodiscard]] std::uint32_t id() const;       // the same, of 32 bits
  [[nodiscard]] std::string character() const;  // a string of one character

  // The same of a field, which may be missing or null where there is a default.
  [[nodiscard]] std::string string(std::string_view key) const { return field(key).string(); }
  [[nodiscard]] bool boolean(std::string_view key) const { return field(key).boolean(); }
  [[nodiscard]] bool boolean(std::string_view key, bool otherwise) const;
  [[nodiscard]] std::uint64_t size(std::string_view key, std::uint64_t otherwise) const;

 private:
  template <typename T>
  [[nodiscard]] const T* expect(std::string_view type) const;

  const JsonValue* value_;
  std::string path_;
  Status* status_;
};

}  // namespace polystate::tokenizer
