#include "polystate/response/response_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/response/response_template.h"

namespace polystate {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTemplate = R"({
  "defaults": {"role": "assistant"},
  "start_anchor": "<model>",
  "fields": {
    "thinking": {"open": "<think>", "close": "</think>"},
    "tool_calls": {"open": "<call>", "close": "</call>", "repeats": true, "content": "json",
      "transform": {"type": "function",
                    "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}},
    "content": {"close": "<end>"}}})";

constexpr std::string_view kCall = R"({"name": "f", "arguments": {"a": 1}})";
constexpr std::string_view kReadCall =
    R"({"type": "function", "function": {"name": "f", "arguments": {"a": 1}}})";

ResponseTemplate response_template() { return ResponseTemplate::parse(kTemplate).value(); }

std::string read(std::string_view answer, const ResponseOptions& options = {},
                 std::string_view prefix = "") {
  const Result<TemplateValue> message =
      parse_response(response_template(), answer, prefix, options);
  return message ? message->to_json().value() : message.error().message;
}

std::string kept(std::string_view answer) { return read(answer, {.keeps_malformed = true}); }

std::string call(std::string_view content) { return "<call>" + std::string(content) + "</call>"; }

TEST(ResponseParser, TellsThoughtsCallsAndContentApart) {
  EXPECT_EQ(read("<think> Hm. </think>Yes. " + call(kCall)),
            R"({"role": "assistant", "thinking": "Hm.", "content": "Yes.", "tool_calls": [)" +
                std::string(kReadCall) + "]}");
  EXPECT_EQ(read("Yes.<end>"), R"({"role": "assistant", "content": "Yes."})");
  EXPECT_EQ(read(""), R"({"role": "assistant"})");
}

TEST(ResponseParser, ShowsWholeCharactersOfWhatItCannotRead) {
  for (std::size_t before = 190; before < 199; ++before) {
    std::string accents;
    while (accents.size() < 20) accents += "é";
    const std::string message = read(call(std::string(before, '{') + accents));
    EXPECT_THAT(message, HasSubstr("{é"));
    EXPECT_THAT(message, HasSubstr("é'..."));
  }
}

TEST(ResponseParser, ReadsWhatThePromptHasOfTheAnswer) {
  EXPECT_EQ(read("Hm.</think>Yes.", {}, "<model>No.<model><think>\n"),
            R"({"role": "assistant", "thinking": "Hm.", "content": "Yes."})");
}

TEST(ResponseParser, RefusesAMalformedCallOrKeepsItAsItWasWritten) {
  EXPECT_THAT(read("Well " + call("{")), HasSubstr("'tool_calls' cannot be read"));
  for (const char* const malformed :
       {"{", "", "[1]", R"({"name": "f"})", R"({"name": 1, "arguments": {}})",
        R"({"name": "", "arguments": {}})", R"({"name": "f", "arguments": [1]})",
        R"({"name": "f", "arguments": "{"})"}) {
    const std::string text = "Well " + call(malformed) + " so";
    EXPECT_EQ(kept(text), R"({"role": "assistant", "content": )" +
                              TemplateValue::string(text).to_json().value() + "}");
  }
  EXPECT_EQ(kept(call(R"({"name": "f", "arguments": "{\"a\": 1}"})")),
            R"({"role": "assistant", "tool_calls": [)" + std::string(kReadCall) + "]}");
}

TEST(ResponseParser, LosesNothingOfAnAnswerThatIsCut) {
  EXPECT_EQ(kept("Yes <cal"), R"({"role": "assistant", "content": "Yes <cal"})");
  EXPECT_EQ(kept("<call>{\"name\": \"f\""),
            R"({"role": "assistant", "content": "<call>{\"name\": \"f\""})");
  EXPECT_EQ(kept("<think>Hm"), R"({"role": "assistant", "thinking": "Hm"})");
  EXPECT_EQ(kept("<call>" + std::string(kCall)),
            R"({"role": "assistant", "tool_calls": [)" + std::string(kReadCall) + "]}");
}

TEST(ResponseParser, KeepsContentBeforeAndBehindAMalformedCall) {
  EXPECT_EQ(kept("One " + call("{") + " two " + call(kCall) + " three"),
            R"({"role": "assistant", "content": "One <call>{</call> twothree", "tool_calls": [)" +
                std::string(kReadCall) + "]}");
  EXPECT_EQ(
      kept("One " + call(kCall) + " two"),
      R"({"role": "assistant", "content": "two", "tool_calls": [)" + std::string(kReadCall) + "]}")
      << "as transformers reads it";
  EXPECT_EQ(kept(call(kCall) + "One " + call("{") + " two"),
            R"({"role": "assistant", "tool_calls": [)" + std::string(kReadCall) +
                R"(], "content": "One <call>{</call> two"})");
}

TEST(ResponseParser, CutsAnywhereGiveTheSame) {
  const std::string answer =
      "é <think>日本 <b></think> x <c " + call(kCall) + "\xFF " + call("{") + "<end> <call";
  const std::string whole = kept(answer);
  for (std::size_t size = 1; size < 12; ++size) {
    ResponseParser parser =
        ResponseParser::start(response_template(), "", {.keeps_malformed = true}).value();
    std::string content;
    const auto take = [&](const std::vector<ResponseEvent>& events) {
      for (const ResponseEvent& event : events) {
        if (event.field == "content") content += event.text;
      }
    };
    for (std::size_t begin = 0; begin < answer.size(); begin += size)
      take(parser.feed(std::string_view(answer).substr(begin, size)).value());
    const ResponseParser::Message done = parser.finish().value();
    take(done.events);
    EXPECT_EQ(done.message.to_json().value(), whole);
    EXPECT_EQ(content, "é  x <c \xEF\xBF\xBD <call>{</call> <call");
  }
}

TEST(ResponseParser, IsOfNoUseAfterAnError) {
  ResponseParser parser = ResponseParser::start(response_template(), "").value();
  EXPECT_FALSE(parser.feed(call("{")));
  EXPECT_EQ(parser.feed("x").error().code, ErrorCode::kContract);
  EXPECT_FALSE(parser.finish());
}

TEST(ResponseParser, ReadsDeepAndLongAnswersInBoundedTime) {
  const auto start = std::chrono::steady_clock::now();
  const std::string deep =
      "<call>" + std::string(100'000, '[') + std::string(100'000, ']') + "</call>";
  EXPECT_THAT(read(deep), HasSubstr("deeper than"));
  EXPECT_EQ(kept(deep).size(), deep.size() + 36);
  std::string halves;
  for (int i = 0; i < 200'000; ++i) halves += "<call <thin";
  EXPECT_EQ(kept(halves).size(), halves.size() + 36);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(ResponseParser, ReadsArgumentsAsTheirSchemasSay) {
  ResponseOptions options;
  options.tools = TemplateValue::parse_json(R"([{"name": "f", "parameters": {"properties": {
      "a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": ["null", "number"]}}}}])")
                      .value();
  EXPECT_THAT(
      read(call(R"({"name": "f", "arguments": {"a": "7", "b": "7", "c": "null", "d": "7"}})"),
           options),
      HasSubstr(R"({"a": 7, "b": "7", "c": null, "d": "7"})"));
}

}  // namespace
}  // namespace polystate
