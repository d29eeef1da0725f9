#include "grammar/schema_cases.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/json_text.h"
#include "grammar/schema_references.h"
#include "grammar/schema_words.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using Types = std::vector<std::string>;
using Values = std::set<std::string>;

constexpr int kDeepest = 16;  // of cases in one another
constexpr std::size_t kMostCases = 256;

// A text that equal values share: of numbers 1 and 1.0, of arrays and of objects all.
std::string key_of(const Json& value) {
  if (value.array() != nullptr) return "[";
  if (value.object() != nullptr) return "{";
  const auto* const number = std::get_if<double>(&value.value);
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (number != nullptr && type_of(value) == "integer" && *number >= -kExact && *number <= kExact)
    return std::to_string(static_cast<std::int64_t>(*number));
  return json_text(value);
}

// The values that a schema names.
std::optional<Values> values_of(const Json& given, const SchemaReferences& references) {
  const Json& schema = references.resolved(given);
  if (const Json* const constant = member(schema, "const")) return Values{key_of(*constant)};
  const Json* const list = member(schema, "enum");
  if (list == nullptr || list->array() == nullptr) return std::nullopt;
  Values values;
  for (const Json& each : *list->array()) values.insert(key_of(each));
  return values;
}

// The types that `type`, `const` or `enum` name.
std::optional<Types> own_types(const Json& schema) {
  Types types;
  if (const Json* const constant = member(schema, "const"))
    return Types{std::string(type_of(*constant))};
  if (const Json* const list = member(schema, "enum");
      list != nullptr && list->array() != nullptr) {
    for (const Json& each : *list->array()) types.emplace_back(type_of(each));
    return types;
  }
  const Json* const type = member(schema, "type");
  if (type == nullptr) return std::nullopt;
  if (const auto* const name = std::get_if<std::string>(&type->value)) return Types{*name};
  if (type->array() == nullptr) return std::nullopt;
  for (const Json& each : *type->array()) {
    const auto* const name = std::get_if<std::string>(&each.value);
    if (name == nullptr) return std::nullopt;
    types.push_back(*name);
  }
  return types;
}

// The cases of a schema that is one of some; nullptr where it is not.
const Json::Array* cases_of(const Json& schema) {
  for (const std::string_view word : {"anyOf", "oneOf"}) {
    const Json* const cases = member(schema, word);
    if (cases != nullptr) return cases->array();
  }
  return nullptr;
}

// What tells the values of a schema from those of others.
struct Marks {
  std::optional<Types> types;
  std::optional<Values> values;
  std::map<std::string, Values> properties = {};  // of objects, that they must have
};

Marks marks_of(const Json& given, const SchemaReferences& references) {
  const Json& schema = references.resolved(given);
  Marks found = {own_types(schema), values_of(schema, references)};
  const Json* const properties = member(schema, "properties");
  const Json* const required = member(schema, "required");
  if (properties == nullptr || required == nullptr || required->array() == nullptr) return found;
  for (const Json& each : *required->array()) {
    const auto* const name = std::get_if<std::string>(&each.value);
    const Json* const property = name == nullptr ? nullptr : member(*properties, *name);
    if (property == nullptr) continue;
    if (std::optional<Values> values = values_of(*property, references))
      found.properties[*name] = *std::move(values);
  }
  return found;
}

// Adds those of all cases in a schema, of which `depth` are around it. Beyond kMostCases it stops.
void add_marks(const Json& given, const SchemaReferences& references, int depth,
               std::vector<Marks>& found) {
  const Json& schema = references.resolved(given);
  const Json::Array* const cases = depth < kDeepest ? cases_of(schema) : nullptr;
  if (cases == nullptr || cases->empty()) {
    found.push_back(marks_of(schema, references));
    return;
  }
  for (const Json& each : *cases) {
    if (found.size() <= kMostCases) add_marks(each, references, depth + 1, found);
  }
}

bool have_none_in_common(const Values& some, const Values& others) {
  return std::ranges::none_of(some, [&](const std::string& each) { return others.contains(each); });
}

bool have_none_in_common(const Types& some, const Types& others) {
  return std::ranges::none_of(some, [&](const std::string& one) {
    return std::ranges::any_of(others, [&](const std::string& other) {
      return is_within(one, other) || is_within(other, one);
    });
  });
}

bool are_apart(const Marks& one, const Marks& other) {
  if (one.types && other.types && have_none_in_common(*one.types, *other.types)) return true;
  if (one.values && other.values && have_none_in_common(*one.values, *other.values)) return true;
  const Types object = {"object"};
  return one.types == object && other.types == object &&
         std::ranges::any_of(one.properties, [&](const auto& property) {
           const auto found = other.properties.find(property.first);
           return found != other.properties.end() &&
                  have_none_in_common(property.second, found->second);
         });
}

}  // namespace

std::optional<Types> types_of(const Json& schema, const SchemaReferences& references) {
  std::vector<Marks> marks;
  add_marks(schema, references, 0, marks);
  if (marks.size() > kMostCases) return std::nullopt;
  Types types;
  for (const Marks& each : marks) {
    if (!each.types) return std::nullopt;
    types.insert(types.end(), each.types->begin(), each.types->end());
  }
  return types;
}

Status check_exclusive(const Json::Array& schemas, const SchemaReferences& references) {
  std::vector<Marks> earlier;
  for (const Json& schema : schemas) {
    std::vector<Marks> cases;
    add_marks(schema, references, 0, cases);
    if (earlier.size() + cases.size() > kMostCases) {
      return Error{ErrorCode::kUnsupported,
                   "'oneOf' is enforced of " + std::to_string(kMostCases) + " cases at most"};
    }
    for (const Marks& one : cases) {
      const bool is_apart =
          std::ranges::all_of(earlier, [&](const Marks& other) { return are_apart(one, other); });
      if (is_apart) continue;
      return Error{ErrorCode::kUnsupported,
                   "'oneOf' is enforced of cases that exclude one another: by their types, by "
                   "constants, or by those of a property that all of them require"};
    }
    earlier.insert(earlier.end(), cases.begin(), cases.end());
  }
  return {};
}

}  // namespace polystate::grammar
