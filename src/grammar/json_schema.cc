#include "grammar/json_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/json_text.h"
#include "grammar/text_pattern.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using Written = nlohmann::ordered_json;

// Which values a word says something about.
enum class About : std::uint8_t {
  kAlone,   // of any type: xgrammar leaves out of account what is beside it
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
    {"$ref", About::kAlone},
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

// Where the texts of a schema are.
enum class Texts : std::uint8_t {
  kJson,
  kRoot,    // the arguments of a call in a style that writes them and their names plainly
  kPlain,   // an argument of these; what is in it is JSON
  kEither,  // in JSON or plain, as the style and `$ref` have it
};

// Where the texts are that are inside of a value, or of another schema of the same value.
Texts texts_inside(Texts texts, About about) {
  if (about != About::kObject && about != About::kArray) return texts;
  if (texts == Texts::kRoot) return Texts::kPlain;
  return texts == Texts::kPlain ? Texts::kJson : texts;
}

TextForm form_of(Texts texts) {
  if (texts == Texts::kEither) return TextForm::kEither;
  return texts == Texts::kJson ? TextForm::kJson : TextForm::kPlain;
}

// The characters of a JSON pointer, for which xgrammar takes any byte.
constexpr std::string_view kJsonPointer = "(/([^/~]|~[01])*)*";

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
  Written check(const Json& schema, const std::string& place, Texts texts) {
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
      found[name] = value_of(*word, value, inside(place, name), texts);
    }
    settle_type(*object, found, place);
    if (is_of_several_types(found)) return of_one_type_each(found, place, texts);
    complete(found, place, texts);
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

  Written value_of(const Word& word, const Json& value, const std::string& place, Texts texts) {
    const Texts within = texts_inside(texts, word.about);
    switch (word.holds) {
      case Holds::kSchema:
        return check(value, place, within);
      case Holds::kSchemas: {
        if (value.array() == nullptr) {
          fail(ErrorCode::kContract, place, "must be an array, is " + described(value));
          return {};
        }
        Written schemas = Written::array();
        for (const Json& each : *value.array())
          schemas.push_back(check(each, inside(place, std::to_string(schemas.size())), within));
        return schemas;
      }
      case Holds::kNamedSchemas: {
        if (value.object() == nullptr) {
          fail(ErrorCode::kContract, place, "must be an object, is " + described(value));
          return {};
        }
        Written schemas = Written::object();
        std::unordered_set<std::string> names;
        for (const auto& [name, each] : *value.object()) {
          Written schema = check(each, inside(place, name), within);
          const bool is_pattern = word.name == "patternProperties";
          const std::string written = is_pattern ? pattern_of(name, within, place) : name;
          if (!names.insert(written).second)
            fail(ErrorCode::kUnsupported, place, "two expressions say the same");
          append_member(schemas, written, std::move(schema));
        }
        return schemas;
      }
      default:
        return ordered_json_of(value);
    }
  }

  // The expression over written texts for what one says about texts.
  std::string pattern_of(const std::string& pattern, Texts texts, const std::string& place) {
    Result<std::string> written = written_pattern(pattern, form_of(texts));
    if (written) return *std::move(written);
    fail(written.error().code, place, written.error().message);
    return {};
  }

  // Whether a list of types stands beside words about values of one type, which xgrammar would be
  // given for all of them.
  static bool is_of_several_types(const Written& found) {
    if (!found.contains("type") || !found["type"].is_array()) return false;
    const Written& types = found["type"];
    for (const Written& type : types) {
      if (!type.is_string()) return false;
    }
    if (types.empty()) return false;
    for (const auto& [word, value] : found.items()) {
      const About about = find_word(word)->about;
      if (about != About::kType && about != About::kNothing) return true;
    }
    return false;
  }

  // A schema for each of the types, with the words about its values.
  Written of_one_type_each(const Written& found, const std::string& place, Texts texts) {
    Written all = Written::object();
    Written& cases = all["anyOf"] = Written::array();
    for (const Written& type : found["type"]) {
      const auto name = type.get<std::string>();
      Written one = Written::object();
      one["type"] = name;
      for (const auto& [word, value] : found.items()) {
        const About about = find_word(word)->about;
        const bool is_typed = about != About::kType && about != About::kNothing;
        if (is_typed && type_of(about) == (name == "integer" ? "number" : name)) one[word] = value;
      }
      complete(one, place, texts);
      cases.push_back(std::move(one));
    }
    for (const auto& [word, value] : found.items()) {
      if (find_word(word)->about == About::kNothing) all[word] = value;
    }
    return all;
  }

  // Says in words of xgrammar's what the draft has for a value of one type.
  void complete(Written& found, const std::string& place, Texts texts) {
    complete_object(found, place);
    complete_array(found);
    write_pattern(found, place, texts);
    limit_characters(found, texts);
    limit_digits(found);
  }

  // Refuses words beside which xgrammar leaves others out of account. Gives words the type that
  // they speak of, and takes it from those that say it themselves.
  void settle_type(const Json::Object& schema, Written& found, const std::string& place) {
    std::vector<std::string> alone;
    std::vector<About> abouts;
    std::string other;
    for (const auto& [name, value] : found.items()) {
      const Word& word = *find_word(name);
      if (word.about == About::kAlone) alone.push_back(name);
      if (word.about == About::kAlone || word.about == About::kType ||
          word.about == About::kNothing)
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
        if (is_allowed(each)) kept.push_back(ordered_json_of(each));
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
  void complete_object(Written& found, const std::string& place) {
    if (!found.contains("type") || found["type"] != "object") return;
    const auto has = [&](std::string_view word) { return found.contains(word); };
    const bool is_open = !has("properties") && !has("patternProperties") &&
                         !has("additionalProperties") && !has("unevaluatedProperties") &&
                         !has("propertyNames");
    if (has("required") && found["required"].is_array() && !has("patternProperties"))
      add_required(found, place);
    if (is_open) found["additionalProperties"] = true;
  }

  // Gives the names that an object must have, and that `properties` lacks, the schema of all such:
  // xgrammar takes them for names that it has not heard of.
  void add_required(Written& found, const std::string& place) {
    const auto names_of_others = [&] {
      std::unordered_set<std::string> known;
      if (found.contains("properties"))
        for (const auto& [name, schema] : found["properties"].items()) known.insert(name);
      std::vector<std::string> others;
      for (const Written& name : found["required"]) {
        if (name.is_string() && known.insert(name.get<std::string>()).second)
          others.push_back(name.get<std::string>());
      }
      return others;
    };
    const std::vector<std::string> names = names_of_others();
    if (names.empty()) return;
    if (found.contains("propertyNames")) {
      return fail(ErrorCode::kUnsupported, place,
                  "'required' is not enforced beside 'propertyNames' for '" + names[0] +
                      "': name it in 'properties'");
    }
    Written schema = Written::object();
    for (const std::string_view word : {"additionalProperties", "unevaluatedProperties"}) {
      if (!found.contains(word)) continue;
      schema = found[word];
      if (schema == false) {
        return fail(ErrorCode::kContract, place,
                    "requires '" + names[0] + "', which '" + std::string(word) + "' forbids");
      }
      break;
    }
    constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
    if (schema.dump().size() > kMostBytes / names.size()) {
      return fail(ErrorCode::kUnsupported, place,
                  "'required' has " + std::to_string(names.size()) +
                      " names that are not in 'properties': name them there");
    }
    Written& properties = found["properties"];
    if (properties.is_null()) properties = Written::object();
    for (const std::string& name : names) append_member(properties, name, schema);
  }

  // Numbers without a limit are those that every reader of JSON keeps exactly; of 64 bits, where
  // the other limit is beyond these. Otherwise a model that repeats a digit would go on for ever.
  static void limit_digits(Written& found) {
    const Written type = found.value("type", Written());
    const auto is_number = [](const Written& each) {
      return each == "integer" || each == "number";
    };
    if (!is_number(type) && !(type.is_array() && std::ranges::any_of(type, is_number))) return;
    if (found.contains("multipleOf")) return;  // which is not enforced beside limits
    constexpr std::int64_t kExact = 9007199254740991;
    using Limits = std::numeric_limits<std::int64_t>;
    const auto has_beyond = [&](std::string_view limit, std::string_view exclusive, double sign) {
      return std::ranges::any_of(std::array{limit, exclusive}, [&](std::string_view word) {
        return found.contains(word) && found[word].is_number() &&
               sign * found[word].get<double>() > static_cast<double>(kExact);
      });
    };
    if (!found.contains("minimum") && !found.contains("exclusiveMinimum"))
      found["minimum"] = has_beyond("maximum", "exclusiveMaximum", -1) ? Limits::min() : -kExact;
    if (!found.contains("maximum") && !found.contains("exclusiveMaximum"))
      found["maximum"] = has_beyond("minimum", "exclusiveMinimum", 1) ? Limits::max() : kExact;
  }

  // An array may have any items where nothing is said of them.
  static void complete_array(Written& found) {
    if (found.value("type", Written()) != "array") return;
    if (!found.contains("items") && !found.contains("unevaluatedItems")) found["items"] = true;
  }

  // Expressions for texts, by which xgrammar takes what is between the quotes.
  void write_pattern(Written& found, const std::string& place, Texts texts) {
    const Written format = found.value("format", Written());
    if (found.contains("pattern")) {
      if (!format.is_null())
        return fail(ErrorCode::kUnsupported, place, "'pattern' is not enforced beside 'format'");
      if (!found["pattern"].is_string())
        return fail(ErrorCode::kContract, inside(place, "pattern"), "must be a string");
      found["pattern"] = pattern_of(found["pattern"].get<std::string>(), texts, place + "/pattern");
      return;
    }
    std::string pattern(kJsonPointer);
    if (format == "relative-json-pointer") {
      pattern.insert(0, "(0|[1-9][0-9]*)(#|").append(")");
    } else if (format != "json-pointer") {
      return;
    }
    found["pattern"] = pattern_of("^" + pattern + "$", texts, place);
    found.erase("format");
  }

  // Lengths of texts as a pattern: by lengths alone xgrammar allows control characters as well.
  static void limit_characters(Written& found, Texts texts) {
    const bool is_limited = found.contains("minLength") || found.contains("maxLength");
    if (!is_limited || found.value("type", Written()) != "string") return;
    if (found.contains("pattern") || found.contains("format")) return;  // which it refuses
    const Written least = found.value("minLength", Written(0));
    const Written most = found.value("maxLength", Written());
    if (!least.is_number_integer() || (!most.is_null() && !most.is_number_integer())) return;
    found["pattern"] = pattern_of_length(least.dump(), most.is_null() ? std::string() : most.dump(),
                                         form_of(texts));
    found.erase("minLength");
    found.erase("maxLength");
  }

  std::optional<Error> error_;
};

Result<Written> checked(const Json& schema, Texts texts) {
  Checker checker;
  Written found = checker.check(schema, "#", texts);
  if (checker.error()) return *checker.error();
  return found;
}

// Where the texts of the schema of a part of a structural tag are.
Texts texts_of(const Json::Object& format, const Json& schema) {
  const auto text_of = [&](std::string_view name) -> std::string_view {
    const Json* const value = format.find(name);
    const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(&value->value);
    return text == nullptr ? std::string_view() : std::string_view(*text);
  };
  const bool is_parameters = text_of("type") == "qwen_xml_parameter";
  const std::string_view style = is_parameters ? "qwen_xml" : text_of("style");
  if (style.empty() || style == "json") return Texts::kJson;
  // These write texts plainly at any depth, as a schema may be used at any that is referred to.
  const bool is_either = style == "minimax_m3_xml" || style == "cohere_xml" ||
                         json_text(schema).find("\"$ref\"") != std::string::npos;
  return is_either ? Texts::kEither : Texts::kRoot;
}

// A structural tag, with the schemas that are anywhere in it checked.
Result<Written> with_checked_schemas(const Json& tag) {
  if (const auto* const array = tag.array()) {
    Written found = Written::array();
    for (const Json& each : *array) {
      Result<Written> element = with_checked_schemas(each);
      if (!element) return element;
      found.push_back(*std::move(element));
    }
    return found;
  }
  const Json::Object* const object = tag.object();
  if (object == nullptr) return ordered_json_of(tag);
  Written found = Written::object();
  for (const auto& [name, each] : *object) {
    Result<Written> member =
        name == "json_schema" ? checked(each, texts_of(*object, each)) : with_checked_schemas(each);
    if (!member) return member;
    append_member(found, name, *std::move(member));
  }
  return found;
}

}  // namespace

Result<std::string> checked_structural_tag(const Json& tag) {
  const Result<Written> found = with_checked_schemas(tag);
  if (!found) return found.error();
  return found->dump();
}

Result<std::string> checked_schema(const Json& schema) {
  const Result<Written> found = checked(schema, Texts::kJson);
  if (!found) return found.error();
  return found->dump();
}

}  // namespace polystate::grammar
