#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "grammar/schema_references.h"
#include "polystate/core/result.h"

namespace polystate::grammar {

// The types of the values that a schema finds valid, as far as its words say so at once: names, or
// nothing where they do not.
std::optional<std::vector<std::string>> types_of(const Json& schema,
                                                 const SchemaReferences& references);

// Fails unless no value can be valid for two of some schemas: by their types, by the values that
// they name, or by those of a property that both require. kUnsupported.
Status check_exclusive(const Json::Array& schemas, const SchemaReferences& references);

}  // namespace polystate::grammar
