#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

// A JSON value (RFC 8259). Integers are kept apart from other numbers.
struct Json {
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  // sorted by name; each name once

  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> value;

  // Nested deeper, or of more values than these, a document is refused.
  static constexpr std::size_t kMaxDepth = 128;
  static constexpr std::size_t kMaxValues = std::size_t{2} * 1024 * 1024;

  // Parses a whole UTF-8 document, strictly: a name that occurs twice in an object, a number that
  // fits neither 64 bits nor a finite double, and anything after the value are errors too.
  // kArtifact with the place.
  static Result<Json> parse(std::string_view text);
};

struct Json::Member {
  std::string name;
  Json value;
};

}  // namespace polystate
