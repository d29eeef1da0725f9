#include "grammar/schema_objects.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/json_text.h"
#include "grammar/schema_texts.h"
#include "grammar/text_pattern.h"
#include "polystate/core/result.h"

namespace polystate::grammar {
namespace {

using Written = nlohmann::ordered_json;

Error refusal_of(const std::string& message) { return {ErrorCode::kUnsupported, message}; }

// The names that an object requires and that `properties` lacks, each once.
std::vector<std::string> unnamed(const Written& found) {
  std::unordered_set<std::string> known;
  if (found.contains("properties")) {
    for (const auto& [name, schema] : found["properties"].items()) known.insert(name);
  }
  std::vector<std::string> names;
  if (!found.contains("required") || !found["required"].is_array()) return names;
  for (const Written& name : found["required"]) {
    if (name.is_string() && known.insert(name.get<std::string>()).second)
      names.push_back(name.get<std::string>());
  }
  return names;
}

Written& properties_of(Written& found) {
  Written& properties = found["properties"];
  if (properties.is_null()) properties = Written::object();
  return properties;
}

Status settle_counts(const Json::Object& schema, Written& found,
                     std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (!found.contains(word)) continue;
    const Result<std::int64_t> count =
        count_of(schema, word, word.starts_with("max") ? TextPattern::kNoLimit : 0);
    if (!count) return count.error();
    if (*count == TextPattern::kNoLimit) {
      found.erase(word);
    } else {
      found[std::string(word)] = *count;
    }
  }
  return {};
}

// Gives the names that an object must have, and that `properties` lacks, the schema of all such:
// xgrammar takes them for names that it has not heard of.
Status add_required(Written& found) {
  const std::vector<std::string> names = unnamed(found);
  if (names.empty()) return {};
  if (found.contains("propertyNames")) {
    return refusal_of("'required' is not enforced beside 'propertyNames' for '" + names[0] +
                      "': name it in 'properties'");
  }
  Written schema = Written::object();
  for (const std::string_view word : {"additionalProperties", "unevaluatedProperties"}) {
    if (!found.contains(word)) continue;
    schema = found[word];
    if (schema == false) {
      return Error{ErrorCode::kContract,
                   "requires '" + names[0] + "', which '" + std::string(word) + "' forbids"};
    }
    break;
  }
  constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  if (schema.dump().size() > kMostBytes / names.size()) {
    return refusal_of("'required' has " + std::to_string(names.size()) +
                      " names that are not in 'properties': name them there");
  }
  Written& properties = properties_of(found);
  for (const std::string& name : names) append_member(properties, name, schema);
  return {};
}

// Names that an expression gives, and what their values are.
struct NamePattern {
  TextPattern texts;
  Written schema;
};

Result<std::vector<NamePattern>> name_patterns(const Written& found) {
  constexpr std::size_t kMost = 64;
  const Written& given = found["patternProperties"];
  if (given.size() > kMost) {
    return refusal_of("'patternProperties' has " + std::to_string(given.size()) +
                      " expressions, and may have " + std::to_string(kMost));
  }
  std::vector<NamePattern> patterns;
  for (const auto& [expression, schema] : given.items()) {
    Result<TextPattern> texts = searched_texts(expression, "patternProperties");
    if (!texts) return texts.error();
    patterns.push_back({*std::move(texts), schema});
  }
  return patterns;
}

// Refuses expressions of which one name may have two.
Status check_apart(const std::vector<NamePattern>& patterns) {
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (patterns[i].schema == patterns[j].schema ||
          begin_otherwise(patterns[i].texts, patterns[j].texts))
        continue;
      return refusal_of(
          "'patternProperties' is enforced of expressions whose names begin in different ways");
    }
  }
  return {};
}

// Refuses names that have an expression as well.
Status check_named(const Written& properties, const std::vector<NamePattern>& patterns,
                   TextMatcher& matcher) {
  for (const auto& [name, schema] : properties.items()) {
    for (const NamePattern& each : patterns) {
      if (schema == each.schema) continue;
      const Result<bool> is_matched = matcher.matches(each.texts, name);
      if (!is_matched) return is_matched.error();
      if (!*is_matched) continue;
      return refusal_of("'patternProperties' is not enforced for '" + name +
                        "', which is in 'properties'");
    }
  }
  return {};
}

// Names required ones, whose schemas are those of the expressions that they match.
Status name_required(Written& found, const std::vector<NamePattern>& patterns,
                     TextMatcher& matcher) {
  for (const std::string& name : unnamed(found)) {
    bool is_found = false;
    for (const NamePattern& each : patterns) {
      const Result<bool> is_matched = matcher.matches(each.texts, name);
      if (!is_matched) return is_matched.error();
      is_found = *is_matched;
      if (!is_found) continue;
      append_member(properties_of(found), name, each.schema);
      break;
    }
    if (is_found) continue;
    return Error{ErrorCode::kContract,
                 "requires '" + name + "', which 'patternProperties' does not allow"};
  }
  return {};
}

// Writes the expressions of names, each of which has one schema.
Status settle_patterns(Written& found, TextForm form, TextMatcher& matcher) {
  for (const std::string_view word :
       {"additionalProperties", "unevaluatedProperties", "propertyNames"}) {
    if (found.contains(word) && found[word] != false)
      return refusal_of("'" + std::string(word) + "' is not enforced beside 'patternProperties'");
  }
  const Result<std::vector<NamePattern>> patterns = name_patterns(found);
  if (!patterns) return patterns.error();
  if (Status status = check_apart(*patterns); !status) return status;
  if (found.contains("properties")) {
    if (Status status = check_named(found["properties"], *patterns, matcher); !status)
      return status;
  }
  if (Status status = name_required(found, *patterns, matcher); !status) return status;
  Written written = Written::object();
  for (const NamePattern& each : *patterns) {
    const Result<std::string> expression = expression_of(each.texts, form);
    if (!expression) return expression.error();
    written[*expression] = each.schema;
  }
  found["patternProperties"] = std::move(written);
  return {};
}

// Where the number of names is limited, xgrammar makes a rule for each name and number.
Status check_size(const Written& found) {
  constexpr std::size_t kMost = 64;
  if (!found.contains("properties") || found["properties"].size() <= kMost) return {};
  for (const std::string_view word : {"minProperties", "maxProperties"}) {
    if (!found.contains(word)) continue;
    return refusal_of("'" + std::string(word) + "' is enforced of " + std::to_string(kMost) +
                      " 'properties' at most, of which there are " +
                      std::to_string(found["properties"].size()));
  }
  return {};
}

}  // namespace

Status complete_object(const Json::Object& schema, Written& found, TextForm form,
                       TextMatcher& matcher) {
  const auto has = [&](std::string_view word) { return found.contains(word); };
  const bool is_open = !has("properties") && !has("patternProperties") &&
                       !has("additionalProperties") && !has("unevaluatedProperties") &&
                       !has("propertyNames");
  if (has("propertyNames") && has("properties"))
    return refusal_of("'propertyNames' is not enforced beside 'properties'");
  Status status = settle_counts(schema, found, {"minProperties", "maxProperties"});
  if (status) {
    status = has("patternProperties") ? settle_patterns(found, form, matcher) : add_required(found);
  }
  if (status) status = check_size(found);
  if (is_open) found["additionalProperties"] = true;
  return status;
}

Status complete_array(const Json::Object& schema, Written& found) {
  if (Status status = settle_counts(schema, found, {"minItems", "maxItems"}); !status)
    return status;
  if (!found.contains("items") && !found.contains("unevaluatedItems")) found["items"] = true;
  if (!found.contains("prefixItems")) return {};
  for (Written& each : found["prefixItems"]) {
    if (each == true) each = Written::object();  // which xgrammar takes alone
  }
  return {};
}

}  // namespace polystate::grammar
