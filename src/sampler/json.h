#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polystate/core/result.h"

namespace polystate::sampler {

// A JSON value. Of the numbers, whole ones that 64 bits hold are kept apart.
struct JsonValue {
  struct Member;
  using Array = std::vector<JsonValue>;
  using Object = std::vector<Member>;  // as written, names may repeat
  // Unsigned: only what is past the signed numbers.
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      content;

  [[nodiscard]] bool is_null() const;
  [[nodiscard]] const Array* array() const;
  [[nodiscard]] const Object* object() const;
};

struct JsonValue::Member {
  std::string name;
  JsonValue value;
};

// Reads a text. kArtifact when it is not JSON, or is nested more than 16 deep.
Result<JsonValue> parse_json(std::string_view text);

// A value for a message: 4, "never", a list.
std::string described(const JsonValue& value);

}  // namespace polystate::sampler
