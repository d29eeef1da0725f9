// The expressions are of Python's `regex`, as transformers' response_template has them. They read
// each character a bounded number of times. One that matches before the end of the text is taken as
// it is, so that what may follow a closing is either there, or shown not to come.

#include "response/forms.h"

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "polystate/response/response_template.h"
#include "response/json_value.h"

namespace polystate::response {
namespace {

using Reads = CallForm::Reads;

constexpr std::array kThoughts = {
    ThoughtForm{"think", "<think>", "</think>", R"(\s*<think>)", R"(</think>\s*)"},
    ThoughtForm{.name = "channels",
                .open = "<|channel|>analysis<|message|>",
                .close = "<|end|>",
                .open_pattern = R"((?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|>)",
                .close_pattern = R"(<\|end\|>)",
                .skipped_pattern = R"((?:<\|start\|>assistant)?<\|channel\|>(?:final|commentary))"
                                   R"(<\|message\|>|<\|end\|>|<\|return\|>)"},
    ThoughtForm{"brackets", "[THINK]", "[/THINK]", R"(\s*\[THINK\])", R"(\[/THINK\]\s*)"},
    ThoughtForm{.name = "actions",
                .open = "<|START_THINKING|>",
                .close = "<|END_THINKING|>",
                .open_pattern = R"(\s*<\|START_THINKING\|>)",
                .close_pattern = R"(<\|END_THINKING\|>\s*)",
                .skipped_pattern = R"(<\|(?:START|END)_(?:RESPONSE|TEXT)\|>)"},
    ThoughtForm{"thought channel", "<|channel>thought\n", "<channel|>", R"(<\|channel>thought\n)",
                R"(<channel\|>\s*)"},
    ThoughtForm{"seed:think", "<seed:think>", "</seed:think>", R"(\s*<seed:think>)",
                R"(</seed:think>\s*)"},
    ThoughtForm{"inner", "<|inner_prefix|>", "<|inner_suffix|>", R"(<\|inner_prefix\|>)",
                R"(<\|inner_suffix\|>)"},
};

// What lists have for each call.
constexpr std::string_view kListed = R"({"name": "{name}", "arguments": {arguments}})";
constexpr std::string_view kListedWithId =
    R"({"name": "{name}", "arguments": {arguments}, "id": "{id}"})";

constexpr std::array kCalls = {
    CallForm{.name = "tool_call with JSON",
             .open = R"(\s*<tool_call>\s*(?=\{))",
             .close = R"(</tool_call>\s*)",
             .written = {"<tool_call>\n{\"name\": \"{name}\", \"arguments\": {arguments}}\n"
                         "</tool_call>",
                         "", "\n", ""}},
    CallForm{.name = "tool_call with parameters",
             .open = R"(\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>)",
             .close = R"(</function>\s*</tool_call>\s*)",
             .reads = Reads::kNamed,
             .tag_pattern = R"(<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</parameter>)",
             .written = {"<tool_call>\n<function={name}>\n{arguments}\n</function>\n</tool_call>",
                         "", "\n", "", "qwen_xml"}},
    CallForm{.name = "tool_call with keys and values",
             .open = R"(\s*<tool_call>(?P<name>[^\s<{]+)\s*(?=<arg_key>|</tool_call>))",
             .close = R"(</tool_call>\s*)",
             .reads = Reads::kNamed,
             .tag_pattern = R"(<arg_key>\s*(?P<key>.*?)\s*</arg_key>\s*)"
                            R"(<arg_value>\s*(?P<value>.*?)\s*</arg_value>)",
             .written = {"<tool_call>{name}\n{arguments}\n</tool_call>", "", "\n", "", "glm_xml"}},
    CallForm{.name = "seed:tool_call",
             .open = R"(\s*<seed:tool_call>\s*<function=(?P<name>[^>\n]+)>)",
             .close = R"(</function>\s*</seed:tool_call>\s*)",
             .reads = Reads::kNamed,
             .tag_pattern = R"(<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</parameter>)",
             .written = {"<seed:tool_call>\n<function={name}>\n{arguments}\n</function>\n"
                         "</seed:tool_call>",
                         "", "\n", "", "qwen_xml"}},
    CallForm{
        .name = "minimax:tool_call",
        .open = R"x(\s*(?:<minimax:tool_call>\s*)?<invoke name="(?P<name>[^"\n]+)">)x",
        .close = R"(</invoke>\s*(?:</minimax:tool_call>\s*|(?=[^\s<]|<[^/])|\Z))",
        .reads = Reads::kNamed,
        .tag_pattern = R"x(<parameter name="(?P<key>[^"\n]+)">\s*(?P<value>.*?)\s*</parameter>)x",
        .written = {"<invoke name=\"{name}\">\n{arguments}\n</invoke>", "<minimax:tool_call>\n",
                    "\n", "\n</minimax:tool_call>", "minimax_xml"}},
    CallForm{
        .name = "DSML",
        .open = R"x(\s*(?:<｜DSML｜(?:function|tool)_calls>\s*)?)x"
                R"x(<｜DSML｜invoke name="(?P<name>[^"\n]+)">)x",
        .close =
            R"(</｜DSML｜invoke>\s*(?:</｜DSML｜(?:function|tool)_calls>\s*|(?=[^\s<]|<[^/])|\Z))",
        .reads = Reads::kNamed,
        .tag_pattern = R"x(<｜DSML｜parameter name="(?P<key>[^"\n]+)"(?: string="\w+")?>)x"
                       R"x((?P<value>.*?)</｜DSML｜parameter>)x"},
    CallForm{.name = "TOOL_CALLS with a list that has ids",
             .open = R"(\s*\[TOOL_CALLS\]\s*(?=\[))",
             .close = "",
             .reads = Reads::kList,
             .id_key = "id",
             .written = {kListedWithId, "[TOOL_CALLS][", ", ", "]"}},
    CallForm{.name = "TOOL_CALLS with a list",
             .open = R"(\s*\[TOOL_CALLS\]\s*(?=\[))",
             .close = "",
             .reads = Reads::kList,
             .written = {kListed, "[TOOL_CALLS][", ", ", "]"}},
    CallForm{.name = "TOOL_CALLS with name and id",
             .open = R"(\s*\[TOOL_CALLS\](?P<name>[^\s\[\]{]+)\[CALL_ID\](?P<id>\w+)\[ARGS\])",
             .close = R"((?=\[TOOL_CALLS\]))",
             .reads = Reads::kNamed,
             .id_key = "id",
             .written = {"[TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]{arguments}"}},
    CallForm{.name = "TOOL_CALLS with name",
             .open = R"(\s*\[TOOL_CALLS\](?P<name>[^\s\[\]{]+)(?:\[ARGS\])?(?=\{))",
             .close = R"((?=\[TOOL_CALLS\]))",
             .reads = Reads::kNamed,
             .written = {"[TOOL_CALLS]{name}[ARGS]{arguments}"}},
    CallForm{.name = "tool▁call with fenced JSON",
             .open = R"(\s*(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>function)"
                     R"(<｜tool▁sep｜>(?P<name>[^\n]+)\n```json\n)",
             .close = R"(```\s*<｜tool▁call▁end｜>\s*(?:<｜tool▁calls▁end｜>\s*)"
                      R"(|(?=[^\s<]|<[^｜]|<｜[^t]|<｜tool▁call▁)|\Z))",
             .reads = Reads::kNamed,
             .written = {"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n"
                         "```<｜tool▁call▁end｜>",
                         "<｜tool▁calls▁begin｜>", "\n", "<｜tool▁calls▁end｜>"}},
    CallForm{.name = "tool▁call with JSON",
             .open = R"(\s*(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>(?P<name>[^\n<]+))"
                     R"(<｜tool▁sep｜>(?=\{))",
             .close = R"(<｜tool▁call▁end｜>\s*(?:<｜tool▁calls▁end｜>\s*)"
                      R"(|(?=[^\s<]|<[^｜]|<｜[^t]|<｜tool▁call▁)|\Z))",
             .reads = Reads::kNamed,
             .written = {"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>",
                         "<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>"}},
    CallForm{.name = "channels",
             .open = R"((?:<\|start\|>assistant)?(?:<\|channel\|>\w+)? to=functions\.)"
                     R"((?P<name>[\w.-]+)(?:<\|channel\|>\w+)?\s*(?:<\|constrain\|>)?\s*(?:json)?)"
                     R"(<\|message\|>)",
             .close = R"(<\|call\|>|<\|end\|>)",
             .reads = Reads::kNamed,
             .written = {"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
                         "{arguments}"}},
    CallForm{.name = "tool_call between bars",
             .open = R"(\s*<\|tool_call\|>\s*(?=\[))",
             .close = R"(<\|/tool_call\|>\s*)",
             .reads = Reads::kList,
             .written = {kListed, "<|tool_call|>[", ", ", "]"}},
    CallForm{.name = "actions",
             .open = R"(\s*<\|START_ACTION\|>\s*(?=\[))",
             .close = R"(<\|END_ACTION\|>\s*)",
             .reads = Reads::kList,
             .name_key = "tool_name",
             .arguments_key = "parameters",
             .id_key = "tool_call_id",
             .written = {R"({"tool_call_id": "{id}", "tool_name": "{name}", "parameters": )"
                         R"({arguments}})",
                         "<|START_ACTION|>[\n    ", ",\n    ", "\n]<|END_ACTION|>"}},
    CallForm{.name = "fenced actions",
             .open = R"(\s*Action:\s*```json\s*(?=\[))",
             .close = R"(```\s*)",
             .reads = Reads::kList,
             .name_key = "tool_name",
             .arguments_key = "parameters",
             .written = {"    {\n        \"tool_name\": \"{name}\",\n        \"parameters\": "
                         "{arguments}\n    }",
                         "Action: ```json\n[\n", ",\n", "\n]```"}},
    CallForm{.name = "tool_calls_section",
             .open = R"(\s*(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*)"
                     R"((?P<id>functions\.(?P<name>[\w.-]+):\d+)\s*<\|tool_call_argument_begin\|>)",
             .close = R"(<\|tool_call_end\|>\s*(?:<\|tool_calls_section_end\|>\s*)"
                      R"(|(?=[^\s<]|<[^|]|<\|[^t]|<\|tool_call_)|\Z))",
             .reads = Reads::kNamed,
             .id_key = "id",
             .written = {"<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>"
                         "{arguments}<|tool_call_end|>",
                         "<|tool_calls_section_begin|>", "", "<|tool_calls_section_end|>"}},
    CallForm{.name = "tool_call:begin",
             .open = R"(\s*(?:<\|tool_calls\|>\s*)?<\|tool_call:begin\|>(?P<id>[^<]*))"
                     R"(<\|tool_call:name\|>(?P<name>[^<]+)<\|tool_call:args\|>)",
             .close = R"(<\|tool_call:end\|>\s*)",
             .reads = Reads::kNamed,
             .id_key = "id",
             .written = {"<|tool_call:begin|>{id}<|tool_call:name|>{name}<|tool_call:args|>"
                         "{arguments}<|tool_call:end|>"}},
    CallForm{.name = "call:name",
             .open = R"(\s*<\|tool_call>call:(?P<name>\w+))",
             .close = R"(<tool_call\|>\s*)",
             .reads = Reads::kNamed,
             .is_dialect = true},
    CallForm{.name = "TOOLCALL",
             .open = R"(\s*<TOOLCALL>\s*(?=\[))",
             .close = R"(</TOOLCALL>\s*)",
             .reads = Reads::kList,
             .written = {kListed, "<TOOLCALL>[", ", ", "]</TOOLCALL>"}},
    CallForm{.name = "tool_calls with a list that has ids",
             .open = R"(\s*<tool_calls>\s*(?=\[))",
             .close = R"(</tool_calls>\s*)",
             .reads = Reads::kList,
             .id_key = "id",
             .written = {kListedWithId, "<tool_calls>[", ", ", "]</tool_calls>"}},
    CallForm{.name = "tool_calls with a list",
             .open = R"(\s*<tool_calls>\s*(?=\[))",
             .close = R"(</tool_calls>\s*)",
             .reads = Reads::kList,
             .written = {kListed, "<tool_calls>[", ", ", "]</tool_calls>"}},
    CallForm{.name = "tool_calls with JSON",
             .open = R"(\s*<tool_calls>\s*(?=\{))",
             .close = R"(</tool_calls>\s*)",
             .written = {kListed, "<tool_calls>\n", "\n</tool_calls>\n<tool_calls>\n",
                         "\n</tool_calls>"}},
    CallForm{.name = "functools",
             .open = R"(\s*functools\s*(?=\[))",
             .close = "",
             .reads = Reads::kList,
             .written = {kListed, "functools[", ", ", "]"}},
    CallForm{.name = "function tag",
             .open = R"(\s*<function=(?P<name>[^>\s]+)>\s*(?=\{))",
             .close = R"(</function>\s*)",
             .reads = Reads::kNamed,
             .written = {"<function={name}>{arguments}</function>"}},
    CallForm{.name = "function tag with parameters",
             .open = R"x(\s*<function name="(?P<name>[^"\n]+)">)x",
             .close = R"(</function>\s*)",
             .reads = Reads::kNamed,
             .tag_pattern = R"x(<param name="(?P<key>[^"\n]+)">(?P<value>.*?)</param>)x"},
    CallForm{.name = "function call",
             .open = R"(\s*(?:<\|message_sep\|>\s*)?function call<\|role_sep\|>\s*(?=\{))",
             .close = "",
             .written = {kListed, "<|message_sep|>\n\nfunction call<|role_sep|>\n"}},
    CallForm{.name = "name and parameters",
             .open = R"x(\A\s*(?:<\|python_tag\|>\s*)?(?=\{\s*"(?:type|name)"))x",
             .close = "",
             .arguments_key = "parameters",
             .written = {R"({"name": "{name}", "parameters": {arguments}})"}},
    CallForm{.name = "recipients",
             .open = R"((?:>>>|\A)(?P<name>(?!all\n)[\w.-]+)\n(?=\{))",
             .close = "(?=>>>)",
             .reads = Reads::kNamed,
             .written = {"{name}\n{arguments}"}},
};

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

std::span<const ThoughtForm> thought_forms() { return kThoughts; }

std::span<const CallForm> call_forms() { return kCalls; }

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
