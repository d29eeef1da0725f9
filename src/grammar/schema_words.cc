#include "grammar/schema_words.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>

#include "core/json.h"

namespace polystate::grammar {
namespace {

constexpr SchemaWord kWords[] = {
    {"$ref", About::kAlone, Holds::kReference},
    {"const", About::kAlone},
    {"enum", About::kAlone},
    {"anyOf", About::kAlone, Holds::kSchemas},
    {"oneOf", About::kAlone, Holds::kSchemas},
    {"allOf", About::kAlone, Holds::kSchemas},
    {"type", About::kType},
    {"properties", About::kObject, Holds::kNamedSchemas},
    {"patternProperties", About::kObject, Holds::kNamedSchemas},
    {"additionalProperties", About::kObject, Holds::kSchema},
    {"unevaluatedProperties", About::kObject, Holds::kSchema},
    {"propertyNames", About::kObject, Holds::kSchema},
    {"required", About::kObject},
    {"minProperties", About::kObject},
    {"maxProperties", About::kObject},
    {"items", About::kArray, Holds::kSchema},
    {"prefixItems", About::kArray, Holds::kSchemas},
    {"unevaluatedItems", About::kArray, Holds::kSchema},
    {"minItems", About::kArray},
    {"maxItems", About::kArray},
    {"minLength", About::kString},
    {"maxLength", About::kString},
    {"pattern", About::kString},
    {"format", About::kString},
    {"minimum", About::kNumber},
    {"maximum", About::kNumber},
    {"exclusiveMinimum", About::kNumber},
    {"exclusiveMaximum", About::kNumber},
    {"multipleOf", About::kNumber},
};

// Annotations of the draft, and those of OpenAPI. Schemas that are named are read where `$ref`
// names them.
constexpr std::string_view kAnnotations[] = {
    "$schema",         "$comment",         "$anchor",       "$defs",         "definitions",
    "title",           "description",      "default",       "examples",      "example",
    "readOnly",        "writeOnly",        "deprecated",    "discriminator", "externalDocs",
    "contentEncoding", "contentMediaType", "contentSchema",
};

// What asserts nothing where it is false.
constexpr std::string_view kSwitches[] = {"uniqueItems", "nullable"};

bool is_whole(const Json& json) {
  const auto* const number = std::get_if<double>(&json.value);
  return std::holds_alternative<std::int64_t>(json.value) ||
         std::holds_alternative<std::uint64_t>(json.value) ||
         (number != nullptr && *number == std::trunc(*number));
}

}  // namespace

const SchemaWord* find_word(std::string_view name) {
  const auto* const found = std::ranges::find(kWords, name, &SchemaWord::name);
  return found == std::end(kWords) ? nullptr : found;
}

bool says_nothing(std::string_view name, const Json& value) {
  if (name.starts_with("x-") || std::ranges::count(kAnnotations, name) > 0) return true;
  const auto* const boolean = std::get_if<bool>(&value.value);
  return boolean != nullptr && !*boolean && std::ranges::count(kSwitches, name) > 0;
}

bool is_about(About about, std::string_view type) {
  return about != About::kAlone && about != About::kType && is_within(type, type_of(about));
}

std::string_view type_of(About about) {
  switch (about) {
    case About::kObject:
      return "object";
    case About::kArray:
      return "array";
    case About::kString:
      return "string";
    default:
      return "number";
  }
}

std::string_view type_of(const Json& value) {
  if (value.is_null()) return "null";
  if (std::holds_alternative<bool>(value.value)) return "boolean";
  if (std::holds_alternative<std::string>(value.value)) return "string";
  if (value.array() != nullptr) return "array";
  if (value.object() != nullptr) return "object";
  return is_whole(value) ? "integer" : "number";
}

bool is_within(std::string_view type, std::string_view other) {
  return type == other || (type == "integer" && other == "number");
}

}  // namespace polystate::grammar
