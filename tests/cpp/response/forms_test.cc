#include "response/forms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "chat_template/value.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/response/response_parser.h"
#include "polystate/response/response_template.h"
#include "response/trial.h"

namespace polystate::response {
namespace {

using chat_template::Value;

std::string replaced(std::string text, std::string_view old, std::string_view by) {
  for (std::size_t at = text.find(old); at != std::string::npos;
       at = text.find(old, at + by.size())) {
    text.replace(at, old.size(), by);
  }
  return text;
}

std::string arguments_in(std::string_view style) {
  if (style == "json") return R"({"place": "Brest", "days": 2})";
  if (style == "glm_xml") {
    return "<arg_key>place</arg_key>\n<arg_value>Brest</arg_value>\n"
           "<arg_key>days</arg_key>\n<arg_value>2</arg_value>";
  }
  if (style == "minimax_xml")
    return "<parameter name=\"place\">Brest</parameter>\n<parameter name=\"days\">2</parameter>";
  if (style == "deepseek_xml") {
    return "<｜DSML｜parameter name=\"place\" string=\"true\">Brest</｜DSML｜parameter>\n"
           "<｜DSML｜parameter name=\"days\" string=\"false\">2</｜DSML｜parameter>";
  }
  if (style == "param_xml")
    return "<param name=\"place\"><![CDATA[Brest]]></param><param name=\"days\">2</param>";
  if (style == "dialect") return "{place:<|\"|>Brest<|\"|>,days:2}";
  return "<parameter=place>Brest</parameter>\n<parameter=days>2</parameter>";
}

// Calls as a form writes them.
std::string written(const CallForm& form, int count) {
  std::string text(form.written.before);
  for (int i = 0; i < count; ++i) {
    if (i > 0) text += form.written.between;
    std::string call(form.written.call);
    call = replaced(call, "{name}", "get_weather");
    call = replaced(call, "{id}", "abcdefgh" + std::to_string(i));
    call = replaced(call, "{index}", std::to_string(i));
    text += replaced(call, "{arguments}", arguments_in(form.written.style));
  }
  return text.append(form.written.after);
}

ResponseOptions options() {
  ResponseOptions options;
  options.keeps_malformed = true;
  options.tools = TemplateValue::parse_json(R"([{"name": "get_weather", "parameters": {
      "properties": {"place": {"type": "string"}, "days": {"type": "integer"}}}}])")
                      .value();
  return options;
}

// The message that is read of an answer in pieces of some size.
std::string read(const ResponseTemplate& reader, std::string_view answer, std::size_t size) {
  ResponseParser parser = ResponseParser::start(reader, "", options()).value();
  for (std::size_t begin = 0; begin < answer.size(); begin += size)
    EXPECT_TRUE(parser.feed(answer.substr(begin, size)));
  return parser.finish().value().message.to_json().value();
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

TEST(CallForms, AreReadAsTheyAreWrittenHoweverTheyAreCut) {
  for (const CallForm& form : call_forms()) {
    const ResponseTemplate reader = template_of(nullptr, &form);
    for (int calls = 1; calls <= (form.written.is_single ? 1 : 2); ++calls) {
      const std::string answer = written(form, calls);
      const std::string whole = read(reader, answer, answer.size());
      EXPECT_EQ(
          count(whole, R"("name": "get_weather", "arguments": {"place": "Brest", "days": 2})"),
          static_cast<std::size_t>(calls))
          << form.name << ": " << answer << " is read as " << whole;
      EXPECT_EQ(whole.find(R"("content")"), std::string::npos) << form.name << ": " << whole;
      for (const std::size_t size : {1, 2, 3, 7})
        EXPECT_EQ(read(reader, answer, size), whole) << form.name;
    }
  }
}

TEST(CallForms, KeepAMalformedCallAsText) {
  for (const CallForm& form : call_forms()) {
    if (form.written.style != "json") continue;
    const ResponseTemplate reader = template_of(nullptr, &form);
    const std::string answer = replaced(written(form, 1), "2}", "2");
    const std::string expected = R"({"role": "assistant", "content": )" +
                                 TemplateValue::string(answer).to_json().value() + "}";
    for (const std::size_t size : {std::size_t{1}, answer.size()})
      EXPECT_EQ(read(reader, answer, size), expected) << form.name;
  }
}

// A text of no quotes that ends a call of a form.
std::string closing_of(const CallForm& form) {
  constexpr std::string_view kArguments = "{arguments}";
  const std::string_view call = form.written.call;
  const std::string_view tail = call.substr(call.find(kArguments) + kArguments.size());
  return tail.find('"') == std::string_view::npos ? replaced(std::string(tail), "\n", "")
                                                  : std::string(form.written.end);
}

TEST(CallForms, TakeAClosingWithinATextOfJsonForText) {
  for (const CallForm& form : call_forms()) {
    if (form.written.style != "json") continue;
    const ResponseTemplate reader = template_of(nullptr, &form);
    const int calls = form.written.is_single ? 1 : 2;
    const std::string place =
        "a" + closing_of(form) + "b" + std::string(form.written.end) + " \\\"c\\\"";
    const std::string answer = replaced(written(form, calls), "Brest", place);
    const std::string whole = read(reader, answer, answer.size());
    EXPECT_EQ(count(whole, R"("arguments": {"place": ")" + place + R"(", "days": 2})"),
              static_cast<std::size_t>(calls))
        << form.name << ": " << answer << " is read as " << whole;
    EXPECT_EQ(whole.find(R"("content")"), std::string::npos) << form.name << ": " << whole;
    for (const std::size_t size : {1, 2, 3, 7})
      EXPECT_EQ(read(reader, answer, size), whole) << form.name;
  }
}

const CallForm& form_of(std::string_view name) {
  return *std::ranges::find(call_forms(), name, &CallForm::name);
}

constexpr std::string_view kCall =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"days\": 2}}\n</tool_call>";
constexpr std::string_view kReadCall =
    R"({"type": "function", "function": {"name": "get_weather", "arguments": {"days": 2}}})";

TEST(CallForms, EndACallWhoseTextIsNotClosedAtItsFirstClosing) {
  const ResponseTemplate reader = template_of(nullptr, &form_of("tool_call with JSON"));
  const std::string open = R"(<tool_call>{"name": "get_weather", "arguments": {"place": "x)";
  for (const std::string& malformed :
       {open + "</tool_call> So", open + "\n</tool_call> So", open + "\\</tool_call> So",
        open + "</tool_call> \"</tool_call> So", open + "</tool_call>\"}</tool_call> So"}) {
    const std::string answer = malformed + "\n" + std::string(kCall);
    const std::string expected = R"({"role": "assistant", "content": )" +
                                 TemplateValue::string(malformed).to_json().value() +
                                 R"(, "tool_calls": [)" + std::string(kReadCall) + "]}";
    for (const std::size_t size : {std::size_t{1}, std::size_t{5}, answer.size()})
      EXPECT_EQ(read(reader, answer, size), expected);
    EXPECT_EQ(read(reader, malformed, 3), R"({"role": "assistant", "content": )" +
                                              TemplateValue::string(malformed).to_json().value() +
                                              "}");
  }
}

TEST(CallForms, KeepOneSpaceBetweenContentBeforeAndBehindThem) {
  const ResponseTemplate reader =
      template_of(thought_forms().data(), &form_of("tool_call with JSON"));
  const auto content_of = [&](std::string_view answer) {
    const std::string text = replaced(std::string(answer), "CALL", kCall);
    const std::string whole = read(reader, text, text.size());
    for (const std::size_t size : {1, 2, 7}) EXPECT_EQ(read(reader, text, size), whole);
    const TemplateValue message = TemplateValue::parse_json(whole).value();
    const Value* const content = message.value().dict().find("content");
    return content == nullptr ? std::string("none") : std::string(content->bytes());
  };
  EXPECT_EQ(content_of("Text CALL after"), "Text after");
  EXPECT_EQ(content_of("Text\n\nCALL\nCALL after"), "Text\n\nafter");
  EXPECT_EQ(content_of("TextCALL after"), "Text after");
  EXPECT_EQ(content_of("TextCALLCALL\nafter"), "Text\nafter");
  EXPECT_EQ(content_of("TextCALLafter"), "Textafter");
  EXPECT_EQ(content_of("One CALL\ntwo\nCALL three \nCALL\n"), "One two\nthree");
  EXPECT_EQ(content_of("CALL\nafter\n\nCALL\n"), "after");
  EXPECT_EQ(content_of("\nCALL\n"), "none");
  EXPECT_EQ(content_of("<think>a</think>\n\nText <think>b</think>\nmore\nCALL"), "Text more");
  EXPECT_EQ(content_of("Text <tool_call>{</tool_call> so CALL on"),
            "Text <tool_call>{</tool_call> so on");
  EXPECT_EQ(content_of("Text CALL <tool_call>{</tool_call> on"),
            "Text <tool_call>{</tool_call> on");
}

TEST(CallForms, ReadAnIntegerOfOver64BitsAsTheNearestDouble) {
  const std::string large = "12345678901234567890";
  for (const CallForm& form : call_forms()) {
    const std::string answer = replaced(
        replaced(replaced(written(form, 1), ": 2}", ": " + large + "}"), ":2}", ":" + large + "}"),
        ">2<", ">" + large + "<");
    const std::string whole = read(template_of(nullptr, &form), answer, answer.size());
    EXPECT_EQ(count(whole, R"("arguments": {"place": "Brest", "days": 1.2345678901234567e+19})"),
              1U)
        << form.name << ": " << whole;
  }
}

TEST(CallForms, ReadATextThatASchemaListsWithoutTheSpaceAroundIt) {
  ResponseOptions options;
  options.keeps_malformed = true;
  options.tools = TemplateValue::parse_json(R"([{"name": "f", "parameters": {"properties": {
      "a": {"enum": ["on", " off"]}, "b": {"anyOf": [{"const": "x"}, {"type": "integer"}]},
      "c": {"type": "string"}}}}])")
                      .value();
  const ResponseTemplate reader = template_of(nullptr, &form_of("tool_call with keys and values"));
  const auto arguments_of = [&](std::string_view a, std::string_view b, std::string_view c) {
    std::string text = "<tool_call>f";
    for (const auto& [key, value] : {std::pair("a", a), std::pair("b", b), std::pair("c", c)}) {
      text.append("<arg_key>").append(key).append("</arg_key><arg_value>");
      text.append(value).append("</arg_value>");
    }
    const TemplateValue message =
        parse_response(reader, text + "</tool_call>", "", options).value();
    const Value call = message.value().dict().find("tool_calls")->elements().front();
    const Value* const function = call.dict().find("function");
    return TemplateValue(*function->dict().find("arguments")).to_json().value();
  };
  EXPECT_EQ(arguments_of("\non ", " x", " x"), R"({"a": "on", "b": "x", "c": " x"})");
  EXPECT_EQ(arguments_of(" off", " 7\n", "on "), R"({"a": " off", "b": 7, "c": "on "})");
  EXPECT_EQ(arguments_of(" in ", " y ", ""), R"({"a": " in ", "b": " y ", "c": ""})");
}

TEST(CallForms, KeepACallThatIsCutAsText) {
  for (const CallForm& form : call_forms()) {
    const ResponseTemplate reader = template_of(nullptr, &form);
    std::string answer = written(form, 1);
    answer.resize(answer.find("Brest") + 7);  // in what is around it
    EXPECT_EQ(read(reader, answer, answer.size()),
              R"({"role": "assistant", "content": )" +
                  TemplateValue::string(answer).to_json().value() + "}")
        << form.name;
  }
}

TEST(ThoughtForms, AreReadBeforeContentHoweverTheyAreCut) {
  for (const ThoughtForm& form : thought_forms()) {
    const ResponseTemplate reader = template_of(&form, nullptr);
    const std::string answer =
        std::string(form.open) + "I look.\nTwice." + std::string(form.close) + "Noon. ";
    for (const std::size_t size : {std::size_t{1}, std::size_t{2}, answer.size()}) {
      EXPECT_EQ(
          read(reader, answer, size),
          R"({"role": "assistant", "reasoning_content": "I look.\nTwice.", "content": "Noon. "})")
          << form.name;
    }
    EXPECT_EQ(read(reader, "Noon. ", 1), R"({"role": "assistant", "content": "Noon. "})");
  }
}

TemplateForms forms_of(std::string_view source) {
  ChatInput chat;
  chat.chat_template = std::string(source);
  return find_forms(ChatTemplates(), chat, true);
}

constexpr std::string_view kBegin =
    "{% if tools %}<|tools|>{{ tools | tojson }}\n{% endif %}{% for m in messages %}<|{{ m.role "
    "}}|>"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls or [] %}";
constexpr std::string_view kEnd =
    "{% endfor %}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";

std::string written_by(std::string_view call) {
  return std::string(kBegin).append(call).append(kEnd);
}

TEST(Trials, FindWhatATemplateWritesAndHowItTakesCalls) {
  const TemplateForms json =
      forms_of(written_by("\n<tool_call>\n{\"name\": \"{{ c.function.name }}\", \"arguments\": "
                          "{{ c.function.arguments | tojson }}}\n</tool_call>"));
  ASSERT_NE(json.calls, nullptr);
  EXPECT_EQ(json.calls->name, "tool_call with JSON");
  ASSERT_NE(json.thoughts, nullptr);
  EXPECT_EQ(json.thoughts->name, "think");
  EXPECT_TRUE(json.shows_tools);
  EXPECT_FALSE(json.arguments_are_text);
  EXPECT_FALSE(json.calls_need_ids);

  const TemplateForms text = forms_of(
      written_by("{% if c.id | length != 9 %}{{ raise_exception('No id') }}{% endif %}[TOOL_CALLS]"
                 "{{ c.function.name ~ '[CALL_ID]' ~ c.id ~ '[ARGS]' + c.function.arguments }}"));
  ASSERT_NE(text.calls, nullptr);
  EXPECT_EQ(text.calls->name, "TOOL_CALLS with name and id");
  EXPECT_TRUE(text.arguments_are_text);
  EXPECT_TRUE(text.calls_need_ids);

  EXPECT_EQ(forms_of(written_by("CALL {{ c.function.name }}")).calls, nullptr);
  const TemplateForms plain = forms_of("{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_EQ(plain.calls, nullptr);
  EXPECT_EQ(plain.thoughts, nullptr);
  EXPECT_FALSE(plain.shows_tools);
}

// The arguments that are read of a call with a text, which is written as a template does it.
std::string read_back(const TemplateForms& forms, std::string_view before, std::string_view text,
                      std::string_view after) {
  const ResponseTemplate reader = template_of(nullptr, forms.calls, forms.value_space);
  std::string answer(before);
  answer.append(text).append(after);
  const std::string whole = read(reader, answer, 1);
  const std::size_t begin = whole.find(R"("arguments": )") + 13;
  return whole.substr(begin, whole.size() - begin - std::string_view("}}]}").size());
}

TEST(Trials, FindTheSpaceAroundValuesAndTextsKeepAllOther) {
  const TemplateForms lines = forms_of(
      written_by("\n<tool_call>\n<function={{ c.function.name }}>\n{% for k, v in "
                 "c.function.arguments | items %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n"
                 "{% endfor %}</function>\n</tool_call>"));
  ASSERT_NE(lines.calls, nullptr);
  EXPECT_EQ(lines.calls->name, "tool_call with parameters");
  const TemplateForms bare = forms_of(
      written_by("\n<tool_call>{{ c.function.name }}\n{% for k, v in c.function.arguments | items "
                 "%}<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>\n{% endfor %}"
                 "</tool_call>"));
  ASSERT_NE(bare.calls, nullptr);
  EXPECT_EQ(bare.calls->name, "tool_call with keys and values");
  EXPECT_EQ(bare.value_space.before + bare.value_space.after, "");
  for (const std::string_view text :
       {"    if x:\n        return 1\n", "", " ", "\n", "\n\n", "a\n", "\na", "  x\n ", "\t"}) {
    const std::string expected =
        R"({"place": )" + TemplateValue::string(text).to_json().value() + R"(, "days": 2})";
    EXPECT_EQ(read_back(lines, "<tool_call>\n<function=get_weather>\n<parameter=place>\n", text,
                        "\n</parameter>\n<parameter=days>\n2\n</parameter>\n</function>\n"
                        "</tool_call>"),
              expected);
    EXPECT_EQ(read_back(bare, "<tool_call>get_weather\n<arg_key>place</arg_key>\n<arg_value>", text,
                        "</arg_value>\n<arg_key>days</arg_key>\n<arg_value> 2\n</arg_value>\n"
                        "</tool_call>"),
              expected);
  }
  EXPECT_EQ(read_back(lines, "<tool_call><function=get_weather><parameter=place>", " x",
                      "</parameter></function></tool_call>"),
            R"({"place": " x"})")
      << "a model may leave the lines out";
}

TEST(Trials, FindThoughtsThatATemplateLeavesOutOrBegins) {
  const TemplateForms left_out = forms_of(
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content.split('</think>')[-1] }}{% endfor %}");
  ASSERT_NE(left_out.thoughts, nullptr);
  EXPECT_EQ(left_out.thoughts->name, "think");
  const TemplateForms begun = forms_of(
      "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
      "{% if add_generation_prompt %}<|assistant|>[THINK]{% endif %}");
  ASSERT_NE(begun.thoughts, nullptr);
  EXPECT_EQ(begun.thoughts->name, "brackets");
}

TEST(Trials, TellWherePromptsBeginThoughtsAndNotWhereUsersDo) {
  const ThoughtForm& think = thought_forms().front();
  EXPECT_EQ(begun_thoughts(think, {"<|user|>Hi<|assistant|><think>\n", {{8, 10}}, {}}),
            "<think>\n");
  EXPECT_EQ(begun_thoughts(think, {"<|user|>Hi<|assistant|><think>\n\n</think>\n", {{8, 10}}, {}}),
            "");
  EXPECT_EQ(begun_thoughts(think, {"<|user|><think>", {{8, 15}}, {}}), "");
}

}  // namespace
}  // namespace polystate::response
