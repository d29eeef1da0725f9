#include "grammar/json_schema.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/json_text.h"
#include "grammar/schema_cases.h"
#include "grammar/schema_definitions.h"
#include "grammar/schema_numbers.h"
#include "grammar/schema_objects.h"
#include "grammar/schema_references.h"
#include "grammar/schema_texts.h"
#include "grammar/schema_words.h"
#include "grammar/text_pattern.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using Written = nlohmann::ordered_json;

// Where a schema is.
struct Place {
  std::string path;  // for messages
  ValueLevel level;
  std::size_t definition;  // of which it is a part
  // Whether its values are those of the definition, which must not lead to itself then.
  bool is_direct = true;
};

// Of a schema of the same value.
Place beside(const Place& place, std::string_view name) {
  Place found = place;
  found.path.append("/").append(name);
  return found;
}

// Of a schema of values in the value.
Place inside(const Place& place, std::string_view name) {
  Place found = beside(place, name);
  found.level = level_inside(place.level);
  found.is_direct = false;
  return found;
}

// Reads a schema and those that it refers to; the first error stays.
class Checker {
 public:
  Checker(const Json& root, ValueLevel level) : references_(root) {
    definitions_.index_of(root, level, "#");
  }

  Result<Written> check() {
    std::vector<Written> contents;
    for (std::size_t i = 0; i < definitions_.size() && !error_; ++i) {
      const SchemaDefinition& next = definitions_[i];
      contents.push_back(check(*next.schema, Place{next.path, next.level, i}));
    }
    const SchemaDefinition* const circle = definitions_.circle();
    if (circle != nullptr)
      fail(ErrorCode::kContract, circle->path, "leads back to itself, with no value between");
    if (error_) return *error_;
    return SchemaDefinitions::joined(std::move(contents));
  }

 private:
  void fail(ErrorCode code, const std::string& path, const std::string& message) {
    if (!error_) error_ = Error{code, "the schema, " + path + ": " + message};
  }
  void refuse(const Place& place, const std::string& message) {
    fail(ErrorCode::kUnsupported, place.path, message);
  }
  void take(const Status& status, const Place& place) {
    if (!status) fail(status.error().code, place.path, status.error().message);
  }

  Written check(const Json& schema, const Place& place) {
    if (const auto* const boolean = std::get_if<bool>(&schema.value)) return *boolean;
    const Json::Object* const object = schema.object();
    if (object == nullptr) {
      fail(ErrorCode::kContract, place.path, "must be a schema, is " + described(schema));
      return {};
    }
    const Json* const type = object->find("type");
    const bool is_alone = std::ranges::any_of(*object, [](const JsonMember& each) {
      const SchemaWord* const word = find_word(each.name);
      return word != nullptr && word->about == About::kAlone;
    });
    if (type != nullptr && type->array() != nullptr && !is_alone)
      return check_types(*object, *type->array(), place);
    return check_words(*object, {}, place);
  }

  // A schema of each of some types, with the words that speak of it.
  Written check_types(const Json::Object& schema, const Json::Array& types, const Place& place) {
    Written cases = Written::array();
    for (const Json& each : types) {
      const auto* const type = std::get_if<std::string>(&each.value);
      if (type == nullptr) {
        fail(ErrorCode::kContract, place.path, "'type' has " + described(each));
        return {};
      }
      cases.push_back(check_words(schema, *type, place));
    }
    if (cases.empty()) fail(ErrorCode::kContract, place.path, "'type' is empty");
    Written found = Written::object();
    found["anyOf"] = std::move(cases);
    return found;
  }

  // `type`: of the values that the words speak of; empty: as the schema says.
  Written check_words(const Json::Object& schema, std::string_view type, const Place& place) {
    Written found = Written::object();
    bool is_alone = false;
    for (const auto& [name, value] : schema) {
      if (says_nothing(name, value) || (name == "$id" && place.path == "#")) continue;
      if (name == "format" && !is_enforced_format(value)) continue;
      const SchemaWord* const word = find_word(name);
      if (word == nullptr) {
        refuse(place, "'" + name + "' is not enforced: leave it out");
        return {};
      }
      if (!type.empty() && !is_about(word->about, type)) continue;
      is_alone = is_alone || word->about == About::kAlone;
      found[name] = value_of(*word, value, place);
    }
    if (!type.empty()) found["type"] = std::string(type);
    if (!error_) settle_type(schema, found, place);
    if (!error_ && is_alone) settle_cases(schema, found, place);
    if (!error_ && !is_alone) settle_values(schema, found, place);
    return found;
  }

  Written value_of(const SchemaWord& word, const Json& value, const Place& place) {
    const Place within =
        word.about == About::kAlone ? beside(place, word.name) : inside(place, word.name);
    switch (word.holds) {
      case Holds::kReference:
        return reference_to(value, within);
      case Holds::kSchema:
        return check(value, within);
      case Holds::kSchemas: {
        if (value.array() == nullptr) {
          fail(ErrorCode::kContract, within.path, "must be an array, is " + described(value));
          return {};
        }
        Written schemas = Written::array();
        for (const Json& each : *value.array())
          schemas.push_back(check(each, beside(within, std::to_string(schemas.size()))));
        return schemas;
      }
      case Holds::kNamedSchemas: {
        if (value.object() == nullptr) {
          fail(ErrorCode::kContract, within.path, "must be an object, is " + described(value));
          return {};
        }
        Written schemas = Written::object();
        for (const auto& [name, each] : *value.object())
          append_member(schemas, name, check(each, beside(within, name)));
        return schemas;
      }
      default:
        return ordered_json_of(value);
    }
  }

  Written reference_to(const Json& value, const Place& place) {
    const auto* const reference = std::get_if<std::string>(&value.value);
    if (reference == nullptr) {
      fail(ErrorCode::kContract, place.path, "must be a string, is " + described(value));
      return {};
    }
    const Result<const Json*> target = references_.find(*reference);
    if (!target) {
      fail(target.error().code, place.path, target.error().message);
      return {};
    }
    constexpr std::size_t kMostDefinitions = 1000;  // which xgrammar follows into one another
    const std::size_t index = definitions_.index_of(**target, place.level, *reference);
    if (definitions_.size() > kMostDefinitions) {
      refuse(place, "'$ref' leads to more than " + std::to_string(kMostDefinitions) + " schemas");
    }
    if (place.is_direct) definitions_[place.definition].leads_to.push_back(index);
    return SchemaDefinitions::reference_to(index);
  }

  // Refuses words beside which xgrammar leaves others out of account. Gives words the type that
  // they speak of, and takes it from those that say it themselves.
  void settle_type(const Json::Object& schema, Written& found, const Place& place) {
    std::vector<std::string> alone;
    std::vector<About> abouts;
    std::string other;
    for (const auto& [name, value] : found.items()) {
      const About about = find_word(name)->about;
      if (about == About::kAlone) alone.push_back(name);
      if (about == About::kAlone || about == About::kType) continue;
      other = name;
      if (std::ranges::count(abouts, about) == 0) abouts.push_back(about);
    }
    if (!alone.empty()) {
      if (alone.size() > 1) other = alone[1];
      if (!other.empty())
        return refuse(place, "'" + other + "' is not enforced beside '" + alone[0] + "'");
      if (found.contains("type")) take_type(schema, alone[0], found, place);
      return;
    }
    if (found.contains("type") || abouts.empty()) return;
    if (abouts.size() > 1) return refuse(place, "'" + other + "' is not enforced without 'type'");
    found["type"] = std::string(type_of(abouts[0]));
  }

  // Leaves a `type` out that the word beside it fulfils.
  void take_type(const Json::Object& schema, const std::string& word, Written& found,
                 const Place& place) {
    const Written types =
        found["type"].is_array() ? found["type"] : Written::array({found["type"]});
    const auto is_allowed = [&](std::string_view type) {
      return std::ranges::any_of(types, [&](const Written& each) {
        return each.is_string() && is_within(type, each.get<std::string>());
      });
    };
    const auto is_fulfilled_by = [&](const Json& each) {
      const std::optional<std::vector<std::string>> of_case = types_of(each, references_);
      return of_case.has_value() && std::ranges::all_of(*of_case, is_allowed);
    };
    const Json& value = *schema.find(word);
    bool is_fulfilled = false;
    if (word == "$ref") {
      const Result<const Json*> target = references_.find(std::get<std::string>(value.value));
      is_fulfilled = target && is_fulfilled_by(**target);
    } else if (word == "const") {
      is_fulfilled = is_allowed(type_of(value));
    } else if (word == "enum" && value.array() != nullptr) {
      Written kept = Written::array();
      for (const Json& each : *value.array()) {
        if (is_allowed(type_of(each))) kept.push_back(ordered_json_of(each));
      }
      is_fulfilled = !kept.empty();
      found["enum"] = std::move(kept);
    } else if (value.array() != nullptr) {
      is_fulfilled = std::ranges::all_of(*value.array(), is_fulfilled_by);
    }
    if (!is_fulfilled) return refuse(place, "'type' is not enforced beside '" + word + "'");
    found.erase("type");
  }

  // Says `oneOf` as `anyOf`, and `allOf` as its only case.
  void settle_cases(const Json::Object& schema, Written& found, const Place& place) {
    for (const char* const word : {"anyOf", "oneOf", "allOf"}) {
      if (found.contains(word) && found[word].empty())
        return fail(ErrorCode::kContract, place.path, std::string("'") + word + "' is empty");
    }
    if (found.contains("oneOf")) {
      take(check_exclusive(*schema.find("oneOf")->array(), references_), place);
      Written cases = std::move(found["oneOf"]);
      found.erase("oneOf");
      found["anyOf"] = std::move(cases);
    }
    if (!found.contains("allOf")) return;
    if (found["allOf"].size() > 1)
      return refuse(place, "'allOf' of several schemas is not enforced: join them");
    Written only = std::move(found["allOf"].front());
    found = std::move(only);
  }

  // Says the words about values of the one type as xgrammar understands them.
  void settle_values(const Json::Object& schema, Written& found, const Place& place) {
    const Written type = found.value("type", Written());
    if (type == "object") {
      settle_names(schema, found, place);
      take(complete_object(schema, found, form_at(level_inside(place.level)), matcher_), place);
    } else if (type == "array") {
      take(complete_array(schema, found), place);
    } else if (type == "string") {
      const Result<Written> text = text_schema(schema, form_at(place.level));
      if (!text) return fail(text.error().code, place.path, text.error().message);
      found = *text;
    } else if (type == "integer" || type == "number") {
      take(settle_numbers(found), place);
    }
  }

  // Refuses `propertyNames` that say anything of what is no text, and leaves those out that say
  // nothing.
  void settle_names(const Json::Object& schema, Written& found, const Place& place) {
    if (!found.contains("propertyNames")) return;
    const Written& names = found["propertyNames"];
    if (names == true || (names.is_object() && names.empty())) {
      found.erase("propertyNames");
      return;
    }
    const auto types = types_of(*schema.find("propertyNames"), references_);
    const bool is_of_texts =
        names.is_object() && names.contains("type")
            ? names["type"] == "string"
            : types && std::ranges::all_of(
                           *types, [](const std::string& type) { return type == "string"; });
    if (!is_of_texts) refuse(place, "'propertyNames' is enforced where it speaks of texts alone");
  }

  SchemaReferences references_;
  SchemaDefinitions definitions_;
  TextMatcher matcher_;
  std::optional<Error> error_;
};

// How xgrammar writes the values of a schema in a part of a structural tag.
ValueLevel level_of(const Json& format) {
  const std::string style = text_of(format, "style");
  if (text_of(format, "type") == "qwen_xml_parameter") return ValueLevel::kArguments;
  if (style.empty() || style == "json") return ValueLevel::kJson;
  const bool is_either = style == "minimax_m3_xml" || style == "cohere_xml";
  return is_either ? ValueLevel::kEither : ValueLevel::kArguments;
}

// A structural tag, with the schemas and expressions that are anywhere in it checked.
Result<Written> with_checked_parts(const Json& tag) {
  if (const auto* const array = tag.array()) {
    Written found = Written::array();
    for (const Json& each : *array) {
      Result<Written> element = with_checked_parts(each);
      if (!element) return element;
      found.push_back(*std::move(element));
    }
    return found;
  }
  const Json::Object* const object = tag.object();
  if (object == nullptr) return ordered_json_of(tag);
  if (text_of(tag, "type") == "regex") {
    const Status status = check_expression(text_of(tag, "pattern"));
    if (!status) return status.error();
  }
  Written found = Written::object();
  for (const auto& [name, each] : *object) {
    Result<Written> part =
        name == "json_schema" ? Checker(each, level_of(tag)).check() : with_checked_parts(each);
    if (!part) return part;
    append_member(found, name, *std::move(part));
  }
  return found;
}

}  // namespace

Result<std::string> checked_structural_tag(const Json& tag) {
  const Result<Written> found = with_checked_parts(tag);
  if (!found) return found.error();
  return found->dump();
}

Result<std::string> checked_schema(const Json& schema) {
  const Result<Written> found = Checker(schema, ValueLevel::kJson).check();
  if (!found) return found.error();
  return found->dump();
}

}  // namespace polystate::grammar
