#include "polystate/grammar/response_format.h"

#include <string>
#include <string_view>

#include "core/json.h"
#include "core/json_cursor.h"
#include "core/json_text.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

using Kind = ResponseFormat::Kind;

// The text of a member, which is a JSON value.
std::string value_of(const Json& json, std::string_view name) {
  const Json::Object* const object = json.object();
  const Json* const found = object == nullptr ? nullptr : object->find(name);
  return found == nullptr ? std::string() : json_text(*found);
}

ResponseFormat json_schema(const Json& json, const JsonCursor& root) {
  if (root.optional("schema")) return {Kind::kJsonSchema, value_of(json, "schema")};
  (void)root["json_schema"]["schema"];  // an error where it is missing
  const Json* const wrapped = json.object()->find("json_schema");
  return {Kind::kJsonSchema, wrapped == nullptr ? std::string() : value_of(*wrapped, "schema")};
}

ResponseFormat choice(const JsonCursor& root) {
  ResponseFormat format{Kind::kChoice};
  for (const JsonCursor& each : root["choices"].elements()) format.choices.push_back(each.string());
  return format;
}

ResponseFormat read(const Json& json, const JsonCursor& root) {
  const std::string type = root["type"].string();
  if (type == "json_object") return {Kind::kJsonObject};
  if (type == "json_schema") return json_schema(json, root);
  if (type == "regex") return {Kind::kRegex, root["pattern"].string()};
  if (type == "choice") return choice(root);
  if (type == "grammar") {
    const std::string syntax = root.string("syntax", "gbnf");
    if (syntax != "gbnf" && syntax != "lark") root["syntax"].fail_as_not("\"gbnf\" or \"lark\"");
    return {syntax == "lark" ? Kind::kLark : Kind::kGbnf, root["grammar"].string()};
  }
  if (type == "structural_tag") return {Kind::kStructuralTag, json_text(json)};
  root["type"].fail_as_not(
      "\"json_object\", \"json_schema\", \"regex\", \"choice\", \"grammar\" or "
      "\"structural_tag\"");
  return {};
}

}  // namespace

Result<ResponseFormat> ResponseFormat::parse(std::string_view json) {
  const Result<Json> document = parse_json(json);
  if (!document) return Error{ErrorCode::kContract, "response_format: " + document.error().message};
  Status status;
  ResponseFormat format = read(*document, JsonCursor(*document, status, "response_format"));
  if (!status) return Error{ErrorCode::kContract, status.error().message};
  return format;
}

}  // namespace polystate
