#include "pipeline/call_grammar.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/grammar/response_format.h"
#include "response/forms.h"

namespace polystate {
namespace {

using Json = nlohmann::ordered_json;

// Ids of calls are as the strictest templates want them.
constexpr std::string_view kId = "[a-zA-Z0-9]{9}";
// The most white space between the parts of arguments, of which a model might never stop.
constexpr int kMaxSpace = 1;

Json literal(std::string_view text) { return {{"type", "const_string"}, {"value", text}}; }

// transformers writes `nullable` where a schema has null among its types.
void take_nullable(Json& schema) {
  if (schema.is_object() && schema.contains("nullable")) {
    const bool is_nullable = schema["nullable"] == true;
    schema.erase("nullable");
    if (is_nullable && schema.contains("type") && schema["type"].is_string())
      schema["type"] = Json::array({schema["type"], "null"});
  }
  if (!schema.is_structured()) return;
  for (Json& each : schema) take_nullable(each);
}

Json arguments_of(const Json& function, std::string_view style) {
  Json schema = function.value("parameters", Json());
  if (schema.is_null()) schema = {{"type", "object"}, {"properties", Json::object()}};
  if (!schema.contains("type")) schema["type"] = "object";
  // Without names, an object has none.
  if (!schema.contains("properties") && !schema.contains("additionalProperties"))
    schema["additionalProperties"] = false;
  take_nullable(schema);
  return {{"type", "json_schema"},
          {"json_schema", std::move(schema)},
          {"style", style},
          {"max_whitespace_cnt", kMaxSpace}};
}

// One call of a tool: what is written, with its parts in place of their names.
Json call_of(const Json& function, const response::WrittenCall& written) {
  Json parts = Json::array();
  std::string text;
  const auto take_text = [&] {
    if (!text.empty()) parts.push_back(literal(std::exchange(text, {})));
  };
  for (std::string_view rest = written.call; !rest.empty();) {
    if (rest.starts_with("{name}")) {
      text += function["name"].get<std::string>();
      rest.remove_prefix(6);
    } else if (rest.starts_with("{arguments}")) {
      take_text();
      parts.push_back(arguments_of(function, written.style));
      rest.remove_prefix(11);
    } else if (rest.starts_with("{id}")) {
      take_text();
      parts.push_back({{"type", "regex"}, {"pattern", kId}});
      rest.remove_prefix(4);
    } else {
      text += rest.front();
      rest.remove_prefix(1);
    }
  }
  take_text();
  return {{"type", "sequence"}, {"elements", std::move(parts)}};
}

Json sequence_of(std::initializer_list<Json> elements) {
  Json kept = Json::array();
  for (const Json& element : elements) {
    if (!element.is_null()) kept.push_back(element);
  }
  return {{"type", "sequence"}, {"elements", std::move(kept)}};
}

Json optional_literal(std::string_view text) { return text.empty() ? Json() : literal(text); }

Json thoughts_of(const WantedCalls& wanted) {
  if (wanted.thoughts == nullptr) return {};
  const Json thoughts = {{"type", "tag"},
                         {"begin", wanted.has_begun_thoughts ? "" : wanted.thoughts->open},
                         {"content", {{"type", "any_text"}}},
                         {"end", wanted.thoughts->close}};
  const Json space = {{"type", "optional"}, {"content", literal("\n\n")}};
  const Json whole = sequence_of({thoughts, space});
  return wanted.has_begun_thoughts ? whole : Json{{"type", "optional"}, {"content", whole}};
}

}  // namespace

Result<ResponseFormat> call_format(const WantedCalls& wanted) {
  const response::WrittenCall& written = wanted.form.written;
  if (written.call.empty()) {
    return Error{ErrorCode::kContract,
                 "tool_choice is '" + std::string(wanted.choice) +
                     "', and calls as the chat template writes them ('" +
                     std::string(wanted.form.name) +
                     "') cannot be asked for: leave the choice to the model with 'auto'"};
  }
  const Result<std::string> text = wanted.tools.to_json();
  if (!text) return text.error();
  Json calls = Json::array();
  const Json tools = Json::parse(*text, nullptr, /*allow_exceptions=*/false);
  if (tools.is_discarded())
    return Error{ErrorCode::kContract, "the tools have a number that JSON has not"};
  for (const Json& tool : tools) {
    const Json& function = tool["function"];
    if (wanted.choice != "required" && function["name"] != wanted.choice) continue;
    calls.push_back(call_of(function, written));
  }
  const Json call = {{"type", "or"}, {"elements", std::move(calls)}};
  const Json format = sequence_of({thoughts_of(wanted), optional_literal(written.before), call,
                                   optional_literal(written.after)});
  const Json tag = {{"type", "structural_tag"}, {"format", format}};
  return ResponseFormat{ResponseFormat::Kind::kStructuralTag, tag.dump()};
}

}  // namespace polystate
