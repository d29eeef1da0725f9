#pragma once

#include <string>
#include <string_view>

#include "core/json.h"
#include "polystate/core/result.h"

namespace polystate::grammar {

// Finds what `$ref` of a schema names in it. It reads the schema, which lives longer.
class SchemaReferences {
 public:
  explicit SchemaReferences(const Json& root);

  // "#", "#/a/b" (RFC 6901, percent-encoded), or these behind the schema's `$id`. kContract: there
  // is no such schema. kUnsupported: it is in another document, or named by an anchor.
  [[nodiscard]] Result<const Json*> find(const std::string& reference) const;

  // Follows a schema that is a `$ref`, through others, to the schema that they name; returns any
  // other schema itself. In a circle, or if a name is not found, returns the last `$ref` reached.
  [[nodiscard]] const Json& resolved(const Json& schema) const;

 private:
  const Json* root_;
  std::string id_;
};

// The member of a schema; nullptr where it has none.
const Json* member(const Json& schema, std::string_view word);

// The text of a member; empty where it has none.
std::string text_of(const Json& schema, std::string_view word);

}  // namespace polystate::grammar
