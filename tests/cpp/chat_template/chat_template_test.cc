// Rendering from C++; tests/python/chat_template compares what is rendered with jinja2.

#include "polystate/chat_template/chat_template.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "chat_template/render.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

TEST(ChatTemplate, RendersAConversation) {
  const auto text = rendered(
      "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}",
      R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "tool", "content": [1, null]}]})");
  EXPECT_EQ(text.value().text, "<user>Hi<tool>[1, None]");
}

TEST(ChatTemplate, IsRenderedByManyThreadsAtOnce) {
  const ChatTemplate parsed = ChatTemplate::parse(
                                  "{% set ns = namespace(n=0) %}{% for i in range(100) %}"
                                  "{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}")
                                  .value();
  const TemplateValue variables = TemplateValue::parse_json(R"({"x": 2})").value();
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  threads.reserve(texts.size());
  for (std::string& text : texts) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) text = parsed.render(variables).value().text;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(texts, std::vector<std::string>(4, "200"));
}

TEST(ChatTemplate, ShowsTheTimeThatItIsGiven) {
  RenderOptions options;
  options.now = [] {
    std::tm time{};
    time.tm_year = 126;
    time.tm_mon = 2;
    time.tm_mday = 7;
    return time;
  };
  EXPECT_EQ(rendered("{{ strftime_now('%d %b %Y') }}", "{}", options).value().text, "07 Mar 2026");
}

TEST(ChatTemplate, AnErrorHasTheLine) {
  EXPECT_EQ(refusal("a\n{{ raise_exception('No ' ~ x) }}", R"({"x": "critics"})"),
            "line 2: No critics");
  EXPECT_EQ(refusal("a\n\n{% for %}"),
            "line 3: expected an expression, got end of statement block");
}

TEST(ChatTemplate, IntegersThatAreRoundedToMoreThan64BitsAreRefused) {
  EXPECT_EQ(refusal("{{ (-9223372036854775807 - 1) | round(-1) }}"),
            "line 1: the result of + has more than 64 bits, which are not supported");
  EXPECT_EQ(refusal("{{ 9223372036854775807 | round(-19) }}"),
            "line 1: the result of round() has more than 64 bits, which are not supported");
  EXPECT_EQ(rendered("{{ (-9223372036854775807 - 1) | round(-2) }}").value().text,
            "-9223372036854775800");
}

TEST(ChatTemplate, TakesADictionaryOfVariablesAlone) {
  const ChatTemplate parsed = ChatTemplate::parse("a").value();
  EXPECT_EQ(parsed.render(TemplateValue::integer(1)).error().code, ErrorCode::kContract);
}

TEST(ChatTemplate, TellsWhatItWritesItself) {
  const ChatTemplate parsed = ChatTemplate::parse("<a>{{ '<b>' ~ x['<c>'] }}{# <d> #}").value();
  EXPECT_TRUE(parsed.writes("<a>"));
  EXPECT_TRUE(parsed.writes("<b>"));
  EXPECT_TRUE(parsed.writes("<c>"));
  EXPECT_FALSE(parsed.writes("<d>"));
  EXPECT_FALSE(parsed.writes("<a><b>"));
}

TEST(TemplateValue, MalformedTextIsReadAsATokenizerReadsIt) {
  const TemplateValue text = TemplateValue::string("a\xFF\xE2\x82z");
  const TemplateValue variables = TemplateValue::dict({{TemplateValue::string("x"), text}}).value();
  EXPECT_EQ(ChatTemplate::parse("{{ x }}").value().render(variables).value().text,
            "a\xEF\xBF\xBD\xEF\xBF\xBDz");
}

TEST(TemplateValue, RefusesWhatPythonHasNot) {
  EXPECT_EQ(TemplateValue::parse_json("{1: 2}").error().code, ErrorCode::kContract);
  const TemplateValue list = TemplateValue::list({}).value();
  EXPECT_EQ(TemplateValue::dict({{list, list}}).error().code, ErrorCode::kContract);
  TemplateValue deep;
  Result<TemplateValue> deeper = TemplateValue::list({deep});
  for (std::size_t i = 0; deeper && i <= TemplateValue::kMaxDepth; ++i) {
    deep = *deeper;
    deeper = TemplateValue::list({deep});
  }
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, ErrorCode::kContract);
}

}  // namespace
}  // namespace polystate
