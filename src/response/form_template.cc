// What reads the answers of a form: a response_template, as transformers has them.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

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

std::string with_space(std::string_view tag_pattern, const ValueSpace& space) {
  std::string pattern(tag_pattern);
  for (const auto& [name, expression] :
       {std::pair("{before}", &space.before), std::pair("{after}", &space.after)}) {
    const std::string_view part = name;
    const std::size_t at = pattern.find(part);
    if (at != std::string::npos) pattern.replace(at, part.size(), *expression);
  }
  return pattern;
}

std::string field_of(const CallForm& form, const ValueSpace& space) {
  std::string json = "{" + text_member("open_pattern", form.open) +
                     text_member("close_pattern", form.close) +
                     text_member("content", form.tag_pattern.empty() ? "json" : "xml-inline") +
                     R"("content_args": {)";
  json += text_member("tag_pattern", with_space(form.tag_pattern, space));
  if (form.is_dialect)
    json += R"("unquoted_keys": true, "string_delims": [["<|\"|>", "<|\"|>"]], )";
  json += R"("is_of_form": true}, )";
  json += form.reads == Reads::kList ? R"("transform_each": true, )" : R"("repeats": true, )";
  return json + R"("transform": )" + transform_of(form) + "}";
}

}  // namespace

ResponseTemplate template_of(const ThoughtForm* thoughts, const CallForm* calls,
                             const ValueSpace& space) {
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
  if (calls != nullptr) fields += member("tool_calls", field_of(*calls, space));
  fields += R"("content": {"content_args": {"strip": false, "is_of_form": true}, )"
            R"("repeats": true, "join": ""})";
  // A prompt is given from where the answer begins: no anchor is looked for.
  return ResponseTemplate::parse(R"({"defaults": {"role": "assistant"}, "start_anchor": "\u0001", )"
                                 R"("fields": {)" +
                                 fields + "}}")
      .value();
}

}  // namespace polystate::response
