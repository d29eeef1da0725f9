#include "response/forms.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/response/response_parser.h"
#include "polystate/response/response_template.h"
#include "response/trial.h"

namespace polystate::response {
namespace {

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
