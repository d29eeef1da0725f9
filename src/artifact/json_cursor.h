#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "artifact/json.h"
#include "artifact/json_path.h"
#include "polystate/core/result.h"

namespace polystate {

// The range of a document's integers.
inline constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// A place in a document that is being read, and the way to it for messages. Whatever is not as the
// reader asks for is recorded in `problem`, which the readers of one document share and where the
// first error stays (kArtifact, beginning with the path); the answer is then an empty or smallest
// value, so that reading may go on and the caller looks at `problem` once, at the end.
class JsonCursor {
 public:
  // Both must live longer than the cursor and those made from it.
  JsonCursor(const Json& document, std::optional<Error>& problem)
      : JsonCursor(&document, {}, problem) {}

  // The value must be an object with exactly these keys.
  void expect_keys(std::initializer_list<std::string_view> keys) const;
  // The value of a key of an object.
  [[nodiscard]] JsonCursor operator[](std::string_view key) const;
  // The keys of an object of at most `limit`, sorted.
  [[nodiscard]] std::vector<std::string> keys(std::size_t limit) const;

  // The elements of an array of at most `limit`, and the one at `index`.
  [[nodiscard]] std::vector<JsonCursor> elements(std::size_t limit) const;
  [[nodiscard]] JsonCursor element(std::size_t index) const;

  [[nodiscard]] bool is_null() const { return is<std::nullptr_t>(); }
  [[nodiscard]] bool is_array() const { return is<Json::Array>(); }
  [[nodiscard]] bool is_string() const { return is<std::string>(); }
  [[nodiscard]] bool is_boolean() const { return is<bool>(); }
  [[nodiscard]] bool is_integer() const { return is<std::int64_t>(); }

  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer(std::int64_t min, std::int64_t max) const;
  // An index, below `count`, the number of `of_what` ("inputs").
  [[nodiscard]] std::size_t index(std::size_t count, std::string_view of_what) const;
  // Always finite; an integer is a number too.
  [[nodiscard]] double number() const;
  [[nodiscard]] double nonnegative_number() const;
  // Text of any characters.
  [[nodiscard]] std::string any_text() const;
  // Printable text; may be empty.
  [[nodiscard]] std::string text() const;
  // Printable text with at least one character.
  [[nodiscard]] std::string nonempty_text() const;
  // Names of the alphabets of names.h.
  [[nodiscard]] std::string identifier() const;
  [[nodiscard]] std::string dotted_name() const;
  [[nodiscard]] std::string file_name() const;

  // Records "<path>: must be <what>, is <the value>".
  void fail_as_not(std::string_view what) const;
  // Records "<path>: <message>".
  void fail(const std::string& message, ErrorCode code = ErrorCode::kArtifact) const;
  // Whether nothing was recorded yet, here or elsewhere in the document.
  [[nodiscard]] bool ok() const { return !*problem_; }

 private:
  JsonCursor(const Json* json, JsonPath path, std::optional<Error>& problem)
      : json_(json), path_(std::move(path)), problem_(&problem) {}

  template <typename T>
  [[nodiscard]] bool is() const {
    return json_ != nullptr && std::holds_alternative<T>(json_->value);
  }
  template <typename T>
  [[nodiscard]] const T* as(std::string_view what) const;
  [[nodiscard]] std::string name(bool (*accepts)(std::string_view), std::string_view what) const;

  const Json* json_;
  JsonPath path_;
  std::optional<Error>* problem_;
};

}  // namespace polystate
