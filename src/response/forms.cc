// The expressions are of Python's `regex`, as transformers' response_template has them. They read
// each character a bounded number of times. One that matches before the end of the text is taken as
// it is, so that what may follow a closing is either there, or shown not to come.

#include "response/forms.h"

#include <array>
#include <span>
#include <string_view>

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

constexpr std::string_view kDsmlTag =
    R"x(<｜DSML｜parameter name="(?P<key>[^"\n]+)"(?: string="\w+")?>)x"
    R"x({before}(?P<value>.*?){after}</｜DSML｜parameter>)x";
constexpr std::string_view kParameterTag =
    R"(<parameter=(?P<key>[^>\n]+)>{before}(?P<value>.*?){after}</parameter>)";

// What lists have for each call.
constexpr std::string_view kListed = R"({"name": "{name}", "arguments": {arguments}})";
constexpr std::string_view kListedWithId =
    R"({"name": "{name}", "arguments": {arguments}, "id": "{id}"})";

constexpr std::array kCalls = {
    CallForm{.name = "tool_call with JSON",
             .open = R"(\s*<tool_call>\s*(?=\{))",
             .close = R"(</tool_call>\s*)",
             .written = {.call = "<tool_call>\n{\"name\": \"{name}\", \"arguments\": {arguments}}\n"
                                 "</tool_call>",
                         .between = "\n",
                         .begin = "<tool_call>",
                         .end = "</tool_call>"}},
    CallForm{
        .name = "tool_call with parameters",
        .open = R"(\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>)",
        .close = R"(</function>\s*</tool_call>\s*)",
        .reads = Reads::kNamed,
        .tag_pattern = kParameterTag,
        .written = {.call =
                        "<tool_call>\n<function={name}>\n{arguments}\n</function>\n</tool_call>",
                    .between = "\n",
                    .style = "qwen_xml",
                    .begin = "<tool_call>",
                    .end = "</function>"}},
    CallForm{.name = "tool_call with keys and values",
             .open = R"(\s*<tool_call>(?P<name>[^\s<{]+)\s*(?=<arg_key>|</tool_call>))",
             .close = R"(</tool_call>\s*)",
             .reads = Reads::kNamed,
             .tag_pattern = R"(<arg_key>\s*(?P<key>.*?)\s*</arg_key>\s*)"
                            R"(<arg_value>{before}(?P<value>.*?){after}</arg_value>)",
             .written = {.call = "<tool_call>{name}\n{arguments}\n</tool_call>",
                         .between = "\n",
                         .style = "glm_xml",
                         .begin = "<tool_call>",
                         .end = "</tool_call>"}},
    CallForm{.name = "seed:tool_call",
             .open = R"(\s*<seed:tool_call>\s*<function=(?P<name>[^>\n]+)>)",
             .close = R"(</function>\s*</seed:tool_call>\s*)",
             .reads = Reads::kNamed,
             .tag_pattern = kParameterTag,
             .written = {.call = "<seed:tool_call>\n<function={name}>\n{arguments}\n</function>\n"
                                 "</seed:tool_call>",
                         .between = "\n",
                         .style = "qwen_xml",
                         .begin = "<seed:tool_call>",
                         .end = "</function>"}},
    CallForm{.name = "minimax:tool_call",
             .open = R"x(\s*(?:<minimax:tool_call>\s*)?<invoke name="(?P<name>[^"\n]+)">)x",
             .close = R"(</invoke>\s*(?:</minimax:tool_call>\s*|(?=[^\s<]|<[^/])|\Z))",
             .reads = Reads::kNamed,
             .tag_pattern = R"x(<parameter name="(?P<key>[^"\n]+)">)x"
                            R"x({before}(?P<value>.*?){after}</parameter>)x",
             .written = {.call = "<invoke name=\"{name}\">\n{arguments}\n</invoke>",
                         .before = "<minimax:tool_call>\n",
                         .between = "\n",
                         .after = "\n</minimax:tool_call>",
                         .style = "minimax_xml",
                         .begin = "<minimax:tool_call>",
                         .end = "</invoke>"}},
    CallForm{.name = "DSML function_calls",
             .open = R"x(\s*(?:<｜DSML｜function_calls>\s*)?)x"
                     R"x(<｜DSML｜invoke name="(?P<name>[^"\n]+)">)x",
             .close = R"(</｜DSML｜invoke>\s*(?:</｜DSML｜function_calls>\s*|(?=[^\s<]|<[^/])|\Z))",
             .reads = Reads::kNamed,
             .tag_pattern = kDsmlTag,
             .needed = "<｜DSML｜function_calls>",
             .written = {.call = "<｜DSML｜invoke name=\"{name}\">\n{arguments}\n</｜DSML｜invoke>",
                         .before = "<｜DSML｜function_calls>\n",
                         .between = "\n",
                         .after = "\n</｜DSML｜function_calls>",
                         .style = "deepseek_xml",
                         .begin = "<｜DSML｜function_calls>",
                         .end = "</｜DSML｜invoke>"}},
    CallForm{.name = "DSML tool_calls",
             .open = R"x(\s*(?:<｜DSML｜tool_calls>\s*)?)x"
                     R"x(<｜DSML｜invoke name="(?P<name>[^"\n]+)">)x",
             .close = R"(</｜DSML｜invoke>\s*(?:</｜DSML｜tool_calls>\s*|(?=[^\s<]|<[^/])|\Z))",
             .reads = Reads::kNamed,
             .tag_pattern = kDsmlTag,
             .needed = "<｜DSML｜tool_calls>",
             .written = {.call = "<｜DSML｜invoke name=\"{name}\">\n{arguments}\n</｜DSML｜invoke>",
                         .before = "<｜DSML｜tool_calls>\n",
                         .between = "\n",
                         .after = "\n</｜DSML｜tool_calls>",
                         .style = "deepseek_xml",
                         .begin = "<｜DSML｜tool_calls>",
                         .end = "</｜DSML｜invoke>"}},
    CallForm{.name = "TOOL_CALLS with a list that has ids",
             .open = R"(\s*\[TOOL_CALLS\]\s*(?=\[))",
             .close = "",
             .reads = Reads::kList,
             .id_key = "id",
             .written = {.call = kListedWithId,
                         .before = "[TOOL_CALLS][",
                         .between = ", ",
                         .after = "]",
                         .begin = "[TOOL_CALLS]"}},
    CallForm{.name = "TOOL_CALLS with a list",
             .open = R"(\s*\[TOOL_CALLS\]\s*(?=\[))",
             .close = "",
             .reads = Reads::kList,
             .written = {.call = kListed,
                         .before = "[TOOL_CALLS][",
                         .between = ", ",
                         .after = "]",
                         .begin = "[TOOL_CALLS]"}},
    CallForm{.name = "TOOL_CALLS with name and id",
             .open = R"(\s*\[TOOL_CALLS\](?P<name>[^\s\[\]{]+)\[CALL_ID\](?P<id>\w+)\[ARGS\])",
             .close = R"((?=\[TOOL_CALLS\]))",
             .reads = Reads::kNamed,
             .id_key = "id",
             .written = {.call = "[TOOL_CALLS]{name}[CALL_ID]{id}[ARGS]{arguments}",
                         .begin = "[TOOL_CALLS]",
                         .end = "[TOOL_CALLS]"}},
    CallForm{.name = "TOOL_CALLS with name",
             .open = R"(\s*\[TOOL_CALLS\](?P<name>[^\s\[\]{]+)(?:\[ARGS\])?(?=\{))",
             .close = R"((?=\[TOOL_CALLS\]))",
             .reads = Reads::kNamed,
             .written = {.call = "[TOOL_CALLS]{name}[ARGS]{arguments}",
                         .begin = "[TOOL_CALLS]",
                         .end = "[TOOL_CALLS]"}},
    CallForm{
        .name = "tool▁call with fenced JSON",
        .open = R"(\s*(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>function)"
                R"(<｜tool▁sep｜>(?P<name>[^\n]+)\n```json\n)",
        .close = R"(```\s*<｜tool▁call▁end｜>\s*(?:<｜tool▁calls▁end｜>\s*)"
                 R"(|(?=[^\s<]|<[^｜]|<｜[^t]|<｜tool▁call▁)|\Z))",
        .reads = Reads::kNamed,
        .written = {.call =
                        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{arguments}\n"
                        "```<｜tool▁call▁end｜>",
                    .before = "<｜tool▁calls▁begin｜>",
                    .between = "\n",
                    .after = "<｜tool▁calls▁end｜>",
                    .begin = "<｜tool▁calls▁begin｜>",
                    .end = "```"}},
    CallForm{
        .name = "tool▁call with JSON",
        .open = R"(\s*(?:<｜tool▁calls▁begin｜>\s*)?<｜tool▁call▁begin｜>(?P<name>[^\n<]+))"
                R"(<｜tool▁sep｜>(?=\{))",
        .close = R"(<｜tool▁call▁end｜>\s*(?:<｜tool▁calls▁end｜>\s*)"
                 R"(|(?=[^\s<]|<[^｜]|<｜[^t]|<｜tool▁call▁)|\Z))",
        .reads = Reads::kNamed,
        .written = {.call =
                        "<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{arguments}<｜tool▁call▁end｜>",
                    .before = "<｜tool▁calls▁begin｜>",
                    .after = "<｜tool▁calls▁end｜>",
                    .begin = "<｜tool▁calls▁begin｜>",
                    .end = "<｜tool▁call▁end｜>"}},
    CallForm{
        .name = "channels",
        .open = R"((?:<\|start\|>assistant)?(?:<\|channel\|>\w+)? to=functions\.)"
                R"((?P<name>[\w.-]+)(?:<\|channel\|>\w+)?\s*(?:<\|constrain\|>)?\s*(?:json)?)"
                R"(<\|message\|>)",
        .close = R"(<\|call\|>|<\|end\|>)",
        .reads = Reads::kNamed,
        .written = {.call = "<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>"
                            "{arguments}",
                    .begin = "<|channel|>commentary to=functions.",
                    .end = "<|",
                    .is_single = true}},
    CallForm{.name = "tool_call between bars",
             .open = R"(\s*<\|tool_call\|>\s*(?=\[))",
             .close = R"(<\|/tool_call\|>\s*)",
             .reads = Reads::kList,
             .written = {.call = kListed,
                         .before = "<|tool_call|>[",
                         .between = ", ",
                         .after = "]",
                         .begin = "<|tool_call|>",
                         .end = "<|/tool_call|>"}},
    CallForm{.name = "actions",
             .open = R"(\s*<\|START_ACTION\|>\s*(?=\[))",
             .close = R"(<\|END_ACTION\|>\s*)",
             .reads = Reads::kList,
             .name_key = "tool_name",
             .arguments_key = "parameters",
             .id_key = "tool_call_id",
             .written = {.call = R"({"tool_call_id": "{id}", "tool_name": "{name}", "parameters": )"
                                 R"({arguments}})",
                         .before = "<|START_ACTION|>[\n    ",
                         .between = ",\n    ",
                         .after = "\n]<|END_ACTION|>",
                         .begin = "<|START_ACTION|>",
                         .end = "<|END_ACTION|>"}},
    CallForm{
        .name = "fenced actions",
        .open = R"(\s*Action:\s*```json\s*(?=\[))",
        .close = R"(```\s*)",
        .reads = Reads::kList,
        .name_key = "tool_name",
        .arguments_key = "parameters",
        .written = {.call = "    {\n        \"tool_name\": \"{name}\",\n        \"parameters\": "
                            "{arguments}\n    }",
                    .before = "Action: ```json\n[\n",
                    .between = ",\n",
                    .after = "\n]```",
                    .begin = "Action: ```json",
                    .end = "```"}},
    CallForm{
        .name = "tool_calls_section",
        .open = R"(\s*(?:<\|tool_calls_section_begin\|>\s*)?<\|tool_call_begin\|>\s*)"
                R"((?P<id>functions\.(?P<name>[\w.-]+):\d+)\s*<\|tool_call_argument_begin\|>)",
        .close = R"(<\|tool_call_end\|>\s*(?:<\|tool_calls_section_end\|>\s*)"
                 R"(|(?=[^\s<]|<[^|]|<\|[^t]|<\|tool_call_)|\Z))",
        .reads = Reads::kNamed,
        .id_key = "id",
        .written = {.call =
                        "<|tool_call_begin|>functions.{name}:{index}<|tool_call_argument_begin|>"
                        "{arguments}<|tool_call_end|>",
                    .before = "<|tool_calls_section_begin|>",
                    .after = "<|tool_calls_section_end|>",
                    .begin = "<|tool_calls_section_begin|>",
                    .end = "<|tool_call_end|>"}},
    CallForm{.name = "tool_call:begin",
             .open = R"(\s*(?:<\|tool_calls\|>\s*)?<\|tool_call:begin\|>(?P<id>[^<]*))"
                     R"(<\|tool_call:name\|>(?P<name>[^<]+)<\|tool_call:args\|>)",
             .close = R"(<\|tool_call:end\|>\s*)",
             .reads = Reads::kNamed,
             .id_key = "id",
             .written = {.call = "<|tool_call:begin|>{id}<|tool_call:name|>{name}<|tool_call:args|>"
                                 "{arguments}<|tool_call:end|>",
                         .begin = "<|tool_call:begin|>",
                         .end = "<|tool_call:end|>"}},
    CallForm{.name = "call:name",
             .open = R"(\s*<\|tool_call>call:(?P<name>[\w.-]+))",
             .close = R"(<tool_call\|>\s*)",
             .reads = Reads::kNamed,
             .is_dialect = true,
             .written = {.call = "<|tool_call>call:{name}{arguments}<tool_call|>",
                         .style = "dialect",
                         .begin = "<|tool_call>",
                         .end = "<tool_call|>"}},
    CallForm{.name = "TOOLCALL",
             .open = R"(\s*<TOOLCALL>\s*(?=\[))",
             .close = R"(</TOOLCALL>\s*)",
             .reads = Reads::kList,
             .written = {.call = kListed,
                         .before = "<TOOLCALL>[",
                         .between = ", ",
                         .after = "]</TOOLCALL>",
                         .begin = "<TOOLCALL>",
                         .end = "</TOOLCALL>"}},
    CallForm{.name = "tool_calls with a list that has ids",
             .open = R"(\s*<tool_calls>\s*(?=\[))",
             .close = R"(</tool_calls>\s*)",
             .reads = Reads::kList,
             .id_key = "id",
             .written = {.call = kListedWithId,
                         .before = "<tool_calls>[",
                         .between = ", ",
                         .after = "]</tool_calls>",
                         .begin = "<tool_calls>",
                         .end = "</tool_calls>"}},
    CallForm{.name = "tool_calls with a list",
             .open = R"(\s*<tool_calls>\s*(?=\[))",
             .close = R"(</tool_calls>\s*)",
             .reads = Reads::kList,
             .written = {.call = kListed,
                         .before = "<tool_calls>[",
                         .between = ", ",
                         .after = "]</tool_calls>",
                         .begin = "<tool_calls>",
                         .end = "</tool_calls>"}},
    CallForm{.name = "tool_calls with JSON",
             .open = R"(\s*<tool_calls>\s*(?=\{))",
             .close = R"(</tool_calls>\s*)",
             .written = {.call = kListed,
                         .before = "<tool_calls>\n",
                         .between = "\n</tool_calls>\n<tool_calls>\n",
                         .after = "\n</tool_calls>",
                         .begin = "<tool_calls>",
                         .end = "</tool_calls>"}},
    CallForm{.name = "functools",
             .open = R"(\s*functools\s*(?=\[))",
             .close = "",
             .reads = Reads::kList,
             .written = {.call = kListed,
                         .before = "functools[",
                         .between = ", ",
                         .after = "]",
                         .begin = "functools["}},
    CallForm{.name = "function tag",
             .open = R"(\s*<function=(?P<name>[^>\s]+)>\s*(?=\{))",
             .close = R"(</function>\s*)",
             .reads = Reads::kNamed,
             .written = {.call = "<function={name}>{arguments}</function>",
                         .begin = "<function=",
                         .end = "</function>"}},
    CallForm{
        .name = "function tag with parameters",
        .open = R"x(\s*<function name="(?P<name>[^"\n]+)">)x",
        .close = R"(</function>\s*)",
        .reads = Reads::kNamed,
        .tag_pattern =
            R"x(<param name="(?P<key>[^"\n]+)">(?:<!\[CDATA\[)?(?P<value>.*?)(?:\]\]>)?</param>)x",
        .written = {.call = "<function name=\"{name}\">{arguments}</function>",
                    .style = "param_xml",
                    .begin = "<function name=",
                    .end = "</function>"}},
    CallForm{.name = "function call",
             .open = R"(\s*(?:<\|message_sep\|>\s*)?function call<\|role_sep\|>\s*(?=\{))",
             .close = "",
             .written = {.call = kListed,
                         .before = "<|message_sep|>\n\nfunction call<|role_sep|>\n",
                         .begin = "function call<|role_sep|>",
                         .is_single = true}},
    CallForm{
        .name = "name and parameters",
        .open = R"x(\A\s*(?:<\|python_tag\|>\s*)?(?=\{\s*"(?:type|name)"))x",
        .close = "",
        .arguments_key = "parameters",
        .written = {.call = R"({"name": "{name}", "parameters": {arguments}})", .is_single = true}},
    CallForm{.name = "recipients",
             .open = R"((?:>>>|\A)(?P<name>(?!all\n)[\w.-]+)\n(?=\{))",
             .close = "(?=>>>)",
             .reads = Reads::kNamed,
             .written = {.call = "{name}\n{arguments}", .end = ">>>", .is_single = true}},
};

}  // namespace

std::span<const ThoughtForm> thought_forms() { return kThoughts; }

std::span<const CallForm> call_forms() { return kCalls; }

}  // namespace polystate::response
