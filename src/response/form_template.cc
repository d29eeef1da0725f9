// What reads the answers of a form: a response_template, as transformers has them.

#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "polystate/response/response_template.h"
#include "response/forms.h"
#include "response/json_value.h"

namespace polystate::response {
namespace {

using Reads = CallForm::Reads;

// A member of an object, with what separates it from the next.
std::string member(std::string_view name, std::string_view json) {
  return json_string(name).append(": ").append(json).append(", ");
}

std::string text_member(std::string_view name, std::string_view text) {
  return text.empty() ? std::string() : member(name, json_string(text));
}

std::string transform_of(const CallForm& form) {
  const auto placeholder = [&](std::string_view key) {
    std::string path;
    if (form.reads == Reads::kObject) path = "content.";
    return json_string("{" + path.append(key) + "}");
  };
  const bool is_named = form.reads == Reads::kNamed;
  std::string json = R"({"type": "function", )";
  if (!form.id_key.empty()) json += member("id", placeholder(form.id_key));
  json += R"("function": {)" + member("name", placeholder(is_named ? "name" : form.name_key));
  return json + R"("arguments": )" + placeholder(is_named ? "content" : form.arguments_key) + "}}";
}

std::string field_of(const CallForm& form) {
  std::string json = "{" + text_member("open_pattern", form.open) +
                     text_member("close_pattern", form.close) +
                     text_member("content", form.tag_pattern.empty() ? "json" : "xml-inline");
  if (!form.tag_pattern.empty())
    json += R"("content_args": {"tag_pattern": )" + json_string(form.tag_pattern) + "}, ";
  if (form.is_dialect) {
    json += R"("content_args": {"unquoted_keys": true, )"
            R"("string_delims": [["<|\"|>", "<|\"|>"]]}, )";
  }
  json += form.reads == Reads::kList ? R"("transform_each": true, )" : R"("repeats": true, )";
  return json + R"("transform": )" + transform_of(form) + "}";
}

}  // namespace

ResponseTemplate template_of(const ThoughtForm* thoughts, const CallForm* calls) {
  std::string fields;
  if (thoughts != nullptr) {
    fields += R"("reasoning_content": {)" + text_member("open_pattern", thoughts->open_pattern) +
              text_member("close_pattern", thoughts->close_pattern) +
              R"("repeats": true, "join": "\n"}, )";
    if (!thoughts->skipped_pattern.empty()) {
      fields += R"("skipped": {)" + text_member("open_pattern", thoughts->skipped_pattern) +
                R"x("close_pattern": "(?=.)"}, )x";
    }
  }
  if (calls != nullptr) fields += member("tool_calls", field_of(*calls));
  fields += R"("content": {"content_args": {"strip": false}, "repeats": true, "join": ""})";
  // A prompt is given from where the answer begins: no anchor is looked for.
  return ResponseTemplate::parse(R"({"defaults": {"role": "assistant"}, "start_anchor": "\u0001", )"
                                 R"("fields": {)" +
                                 fields + "}}")
      .value();
}

}  // namespace polystate::response
