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

#include "core/json.h"
#include "polystate/core/result.h"

namespace polystate {

// A place in a document that is being read. Whatever is not as the reader asks for is recorded in a
// status, which the cursors of one document share and where the first error stays (kArtifact,
// unless said otherwise, beginning with the way to the value); the answer is then an empty or
// smallest value, so that reading may go on and the caller looks at the status once, at the end:
//
//   Status status;
//   const JsonCursor root(document, status);
//   const std::string name = root["name"].text();
//   if (!status) return status.error();
class JsonCursor {
 public:
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  static constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

  // `name`: what messages call the document, such as a file's name. All must live longer than the
  // cursor and those made from it.
  JsonCursor(const Json& document, Status& status, std::string_view name = {})
      : document_(&document), json_(&document), status_(&status), name_(name) {}

  // Of an object.

  // It must have exactly these keys.
  void expect_keys(std::initializer_list<std::string_view> keys) const;
  // The value of a key that must be there.
  [[nodiscard]] JsonCursor operator[](std::string_view key) const;
  // The value of a key, unless it is missing or null.
  [[nodiscard]] std::optional<JsonCursor> optional(std::string_view key) const;
  // The keys and values, at most `limit`, in the order of the document.
  [[nodiscard]] std::vector<std::pair<std::string_view, JsonCursor>> fields(
      std::size_t limit = kNoLimit) const;

  // Of an array: its elements, at most `limit`, and the one at `index`.
  [[nodiscard]] std::vector<JsonCursor> elements(std::size_t limit = kNoLimit) const;
  [[nodiscard]] JsonCursor element(std::size_t index) const;

  [[nodiscard]] bool is_null() const { return is<std::nullptr_t>(); }
  [[nodiscard]] bool is_array() const { return is<Json::Array>(); }
  [[nodiscard]] bool is_object() const { return is<Json::Object>(); }
  [[nodiscard]] bool is_string() const { return is<std::string>(); }
  [[nodiscard]] bool is_boolean() const { return is<bool>(); }
  // Of any size.
  [[nodiscard]] bool is_integer() const { return is<std::int64_t>() || is<std::uint64_t>(); }

  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::int64_t integer(std::int64_t min = kSmallest,
                                     std::int64_t max = kLargest) const;
  // An integer that is not negative.
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(integer(0)); }
  // The same, of 32 bits.
  [[nodiscard]] std::uint32_t id() const {
    return static_cast<std::uint32_t>(integer(0, std::numeric_limits<std::uint32_t>::max()));
  }
  // An index, below `count`, the number of `of_what` ("inputs").
  [[nodiscard]] std::size_t index(std::size_t count, std::string_view of_what) const;
  // Always finite; an integer is a number too.
  [[nodiscard]] double number() const;
  [[nodiscard]] double nonnegative_number() const;
  // Any characters; one; printable ones, which may be none; at least one printable one.
  [[nodiscard]] std::string string() const;
  [[nodiscard]] std::string character() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string nonempty_text() const;
  // Names of the alphabets of names.h.
  [[nodiscard]] std::string identifier() const;
  [[nodiscard]] std::string dotted_name() const;
  [[nodiscard]] std::string file_name() const;

  // The same of the value of a key; `otherwise` where it is missing or null.
  [[nodiscard]] bool boolean(std::string_view key, bool otherwise) const;
  [[nodiscard]] std::uint64_t size(std::string_view key, std::uint64_t otherwise) const;
  [[nodiscard]] std::string string(std::string_view key, std::string_view otherwise) const;

  // Records "<way to the value>: must be <what>, is <the value>".
  void fail_as_not(std::string_view what) const;
  // Records "<way to the value>: <message>".
  void fail(const std::string& message, ErrorCode code = ErrorCode::kArtifact) const;
  void fail(const Error& error) const { fail(error.message, error.code); }
  // Whether nothing was recorded yet, here or elsewhere in the document.
  [[nodiscard]] bool ok() const { return status_->has_value(); }

 private:
  // The cursor at a value of the same document; nullptr where there is none, after an error.
  [[nodiscard]] JsonCursor at(const Json* json) const;

  template <typename T>
  [[nodiscard]] bool is() const {
    return json_ != nullptr && std::holds_alternative<T>(json_->value);
  }
  template <typename T>
  [[nodiscard]] const T* as(std::string_view what) const;
  [[nodiscard]] std::optional<std::int64_t> any_integer() const;
  [[nodiscard]] std::string name(bool (*accepts)(std::string_view), std::string_view what) const;

  const Json* document_;
  const Json* json_;  // in *document_
  Status* status_;
  std::string_view name_;
};

}  // namespace polystate
