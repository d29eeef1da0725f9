#include "grammar/json_schema.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/json_text.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using Written = nlohmann::ordered_json;

// Which values a word says something about.
enum class About : std::uint8_t {
  kAny,     // it stands alone: xgrammar leaves out of account what is beside it
  kType,    // `type` itself
  kObject,  // those of one type
  kArray,
  kString,
  kNumber,
  kNothing,  // it says something to people alone, or to `$ref`
};

// What the value of a word is.
enum class Holds : std::uint8_t { kValue, kSchema, kSchemas, kNamedSchemas };

struct Word {
  std::string_view name;
  About about;
  Holds holds = Holds::kValue;
};

constexpr Word kWords[] = {
    {"$ref", About::kAny},
    {"const", About::kAny},
    {"enum", About::kAny},
    {"anyOf", About::kAny, Holds::kSchemas},
    {"oneOf", About::kAny, Holds::kSchemas},
    {"allOf", About::kAny, Holds::kSchemas},
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
    {"$defs", About::kNothing, Holds::kNamedSchemas},
    {"definitions", About::kNothing, Holds::kNamedSchemas},
};

constexpr std::string_view kAnnotations[] = {
    "$schema",  "$comment",   "title",     "description",     "default",          "examples",
    "readOnly", "deprecated", "writeOnly", "contentEncoding", "contentMediaType", "contentSchema",
};

// Formats of texts that xgrammar enforces; others are annotations, as the draft has it.
constexpr std::string_view kFormats[] = {
    "email", "date", "time", "date-time", "duration",     "ipv4",
    "ipv6",  "uuid", "uri",  "hostname",  "json-pointer", "relative-json-pointer",
};

const Word* find_word(std::string_view name) {
  const auto* const found = std::ranges::find(kWords, name, &Word::name);
  return found == std::end(kWords) ? nullptr : found;
}

Written copy_of(const Json& json) { return Written::parse(json_text(json)); }

bool is_integer(const Json& json) {
  const auto* const number = std::get_if<double>(&json.value);
  return std::holds_alternative<std::int64_t>(json.value) ||
         std::holds_alternative<std::uint64_t>(json.value) ||
         (number != nullptr && *number == std::trunc(*number));
}

// Whether a value is of a type as schemas call it.
bool is_of_type(const Json& json, std::string_view type) {
  if (type == "null") return json.is_null();
  if (type == "boolean") return std::holds_alternative<bool>(json.value);
  if (type == "string") return std::holds_alternative<std::string>(json.value);
  if (type == "array") return json.array() != nullptr;
  if (type == "object") return json.object() != nullptr;
  if (type == "integer") return is_integer(json);
  return type == "number" && (is_integer(json) || std::holds_alternative<double>(json.value));
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

// Reads a schema and those in it; the first error stays.
class Checker {
 public:
  Written check(const Json& schema, const std::string& place) {
    if (const auto* const boolean = std::get_if<bool>(&schema.value)) return *boolean;
    const Json::Object* const object = schema.object();
    if (object == nullptr) {
      fail(ErrorCode::kContract, place, "must be a schema, is " + described(schema));
      return {};
    }
    Written found = Written::object();
    for (const auto& [name, value] : *object) {
      if (std::ranges::count(kAnnotations, name) > 0) continue;
      if (name == "$id" && place == "#") continue;
      if (name == "format" && !is_enforced_format(value)) continue;
      const Word* const word = find_word(name);
      if (word == nullptr) {
        fail(ErrorCode::kUnsupported, place, "'" + name + "' is not enforced: leave it out");
        return {};
      }
      found[name] = value_of(*word, value, inside(place, name));
    }
    check_combination(*object, found, place);
    complete_object(found);
    limit_characters(found);
    limit_digits(found);
    return found;
  }

  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void fail(ErrorCode code, const std::string& place, const std::string& message) {
    if (!error_) error_ = Error{code, "the schema, " + place + ": " + message};
  }

  static std::string inside(std::string place, std::string_view name) {
    return std::move(place.append("/").append(name));
  }

  static bool is_enforced_format(const Json& value) {
    const auto* const format = std::get_if<std::string>(&value.value);
    return format != nullptr && std::ranges::count(kFormats, *format) > 0;
  }

  Written value_of(const Word& word, const Json& value, const std::string& place) {
    switch (word.holds) {
      case Holds::kSchema:
        return check(value, place);
      case Holds::kSchemas: {
        if (value.array() == nullptr) {
          fail(ErrorCode::kContract, place, "must be an array, is " + described(value));
          return {};
        }
        Written schemas = Written::array();
        for (const Json& each : *value.array())
          schemas.push_back(check(each, inside(place, std::to_string(schemas.size()))));
        return schemas;
      }
      case Holds::kNamedSchemas: {
        if (value.object() == nullptr) {
          fail(ErrorCode::kContract, place, "must be an object, is " + described(value));
          return {};
        }
        Written schemas = Written::object();
        for (const auto& [name, each] : *value.object()) {
          if (word.name == "patternProperties") check_pattern(name, place);
          schemas[name] = check(each, inside(place, name));
        }
        return schemas;
      }
      default:
        if (word.name == "pattern") check_pattern(value, place);
        return copy_of(value);
    }
  }

  void check_pattern(const Json& pattern, const std::string& place) {
    if (const auto* const text = std::get_if<std::string>(&pattern.value))
      check_pattern(*text, place);
  }

  void check_pattern(std::string_view pattern, const std::string& place) {
    if (const Status fits = check_expression_size(pattern.size()); !fits)
      fail(fits.error().code, place, fits.error().message);
  }

  // Words beside which xgrammar leaves others out of account, and words without their type.
  void check_combination(const Json::Object& schema, Written& found, const std::string& place) {
    std::vector<std::string> alone;
    std::vector<About> abouts;
    std::string other;
    for (const auto& [name, value] : found.items()) {
      const Word& word = *find_word(name);
      if (word.about == About::kAny) alone.push_back(name);
      if (word.about == About::kAny || word.about == About::kType || word.about == About::kNothing)
        continue;
      other = name;
      if (std::ranges::count(abouts, word.about) == 0) abouts.push_back(word.about);
    }
    if (!alone.empty()) {
      if (alone.size() > 1) other = alone[1];
      if (!other.empty()) {
        return fail(ErrorCode::kUnsupported, place,
                    "'" + other + "' is not enforced beside '" + alone[0] + "'");
      }
      if (found.contains("type")) take_type(schema, alone[0], found, place);
      return;
    }
    if (found.contains("type") || abouts.empty()) return;
    if (abouts.size() > 1) {
      return fail(ErrorCode::kUnsupported, place, "'" + other + "' is not enforced without 'type'");
    }
    found["type"] = std::string(type_of(abouts[0]));
  }

  // Leaves a `type` out that the word beside it fulfils.
  void take_type(const Json::Object& schema, const std::string& word, Written& found,
                 const std::string& place) {
    const Written types =
        found["type"].is_array() ? found["type"] : Written::array({found["type"]});
    const auto is_allowed = [&](const Json& value) {
      return std::ranges::any_of(types, [&](const Written& type) {
        return type.is_string() && is_of_type(value, type.get<std::string>());
      });
    };
    const Json& value = *schema.find(word);
    bool is_fulfilled = false;
    if (word == "const") {
      is_fulfilled = is_allowed(value);
    } else if (word == "enum" && value.array() != nullptr) {
      Written kept = Written::array();
      for (const Json& each : *value.array()) {
        if (is_allowed(each)) kept.push_back(copy_of(each));
      }
      is_fulfilled = !kept.empty();
      found["enum"] = std::move(kept);
    } else if (found[word].is_array()) {
      is_fulfilled = std::ranges::all_of(found[word], [&](const Written& each) {
        return each.is_object() && each.contains("type") && each["type"] == found["type"];
      });
    }
    if (!is_fulfilled) {
      return fail(ErrorCode::kUnsupported, place, "'type' is not enforced beside '" + word + "'");
    }
    found.erase("type");
  }

  // An object may have what it must have, and anything where nothing is said of it.
  static void complete_object(Written& found) {
    if (!found.contains("type") || found["type"] != "object") return;
    const auto has = [&](std::string_view word) { return found.contains(word); };
    if (has("required") && found["required"].is_array() && !has("patternProperties")) {
      const Written required = found["required"];  // inserting moves the others
      for (const Written& name : required) {
        if (!name.is_string()) continue;
        Written& properties = found["properties"];
        if (!properties.contains(name.get<std::string>()))
          properties[name.get<std::string>()] = Written::object();
      }
    }
    const bool is_open = !has("properties") && !has("patternProperties") &&
                         !has("additionalProperties") && !has("unevaluatedProperties") &&
                         !has("propertyNames");
    if (is_open) found["additionalProperties"] = true;
  }

  // Numbers without a limit are those that every reader of JSON keeps exactly. Otherwise a model
  // that repeats a digit would go on for ever.
  static void limit_digits(Written& found) {
    const Written type = found.value("type", Written());
    const auto is_number = [](const Written& each) {
      return each == "integer" || each == "number";
    };
    if (!is_number(type) && !(type.is_array() && std::ranges::any_of(type, is_number))) return;
    if (found.contains("multipleOf")) return;  // which is not enforced beside limits
    constexpr std::int64_t kLargest = 9007199254740991;
    if (!found.contains("minimum") && !found.contains("exclusiveMinimum"))
      found["minimum"] = -kLargest;
    if (!found.contains("maximum") && !found.contains("exclusiveMaximum"))
      found["maximum"] = kLargest;
  }

  // Lengths of texts as a pattern: by lengths alone xgrammar allows control characters as well.
  static void limit_characters(Written& found) {
    const bool is_limited = found.contains("minLength") || found.contains("maxLength");
    if (!is_limited || found.value("type", Written()) != "string") return;
    if (found.contains("pattern") || found.contains("format")) return;  // which it refuses
    const Written least = found.value("minLength", Written(0));
    const Written most = found.value("maxLength", Written());
    if (!least.is_number_integer() || (!most.is_null() && !most.is_number_integer())) return;
    found["pattern"] = R"(^[^"\\\u0000-\u001f]{)" + least.dump() + "," +
                       (most.is_null() ? std::string() : most.dump()) + "}$";
    found.erase("minLength");
    found.erase("maxLength");
  }

  std::optional<Error> error_;
};

// Schemas anywhere in the description of a text.
Status check_schemas(Written& tag) {
  if (tag.is_object() && tag.value("type", Written()) == "json_schema" &&
      tag.contains("json_schema")) {
    const Result<Json> schema = parse_json(tag["json_schema"].dump());
    if (!schema) return schema.error();
    const Result<std::string> checked = checked_schema(*schema);
    if (!checked) return checked.error();
    tag["json_schema"] = Written::parse(*checked);
    return {};
  }
  if (!tag.is_structured()) return {};
  for (Written& each : tag) {
    if (const Status checked = check_schemas(each); !checked) return checked;
  }
  return {};
}

}  // namespace

Result<std::string> checked_structural_tag(const Json& tag) {
  Written found = copy_of(tag);
  if (const Status checked = check_schemas(found); !checked) return checked.error();
  return found.dump();
}

Status check_expression_size(std::size_t bytes) {
  constexpr std::size_t kMost = 4096;
  if (bytes <= kMost) return {};
  return Error{ErrorCode::kContract, "the expression has " + std::to_string(bytes) +
                                         " bytes, and may have " + std::to_string(kMost)};
}

Result<std::string> checked_schema(const Json& schema) {
  Checker checker;
  const Written found = checker.check(schema, "#");
  if (checker.error()) return *checker.error();
  return found.dump();
}

}  // namespace polystate::grammar
