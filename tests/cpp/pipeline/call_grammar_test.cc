#include "pipeline/call_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "pipeline/character_tokenizer.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/grammar/grammar_compiler.h"
#include "polystate/grammar/response_format.h"
#include "polystate/response/response_parser.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/tokenizer/tokenizer.h"
#include "response/forms.h"

namespace polystate {
namespace {

using chat_template::Value;
using response::CallForm;
using response::ThoughtForm;
using testing::HasSubstr;

constexpr TokenId kEnd = kFirstSpecial;
constexpr TokenId kUnread = kEnd + 1;
constexpr TokenId kMarker = kEnd + 2;
constexpr std::size_t kVocabulary = kMarker + 1;

TemplateValue weather_and_sums() {
  return TemplateValue::parse_json(R"([
      {"type": "function", "function": {"name": "get_weather", "parameters": {
          "type": "object", "required": ["place", "days"], "properties": {
              "place": {"type": "string", "enum": ["Brest", "Lyon"], "description": "Where"},
              "days": {"type": "integer", "minimum": 0, "maximum": 99},
              "note": {"type": "string"}}}}},
      {"type": "function", "function": {"name": "add", "parameters": {
          "type": "object", "required": ["exact"], "properties": {
              "exact": {"type": "boolean"}}}}}])")
      .value();
}

const Value* member(const Value& value, std::string_view name) {
  return value.kind() == Value::Kind::kDict ? value.dict().find(name) : nullptr;
}

// Whether a call is one of the tools, whose arguments its schema finds valid.
bool is_valid(const Value& call) {
  const Value* const function = member(call, "function");
  if (function == nullptr) return false;
  const std::string_view name = member(*function, "name")->bytes();
  const Value& arguments = *member(*function, "arguments");
  if (name == "add") {
    const Value* const exact = member(arguments, "exact");
    return arguments.dict().size() == 1 && exact != nullptr &&
           exact->kind() == Value::Kind::kBoolean;
  }
  const Value* const place = member(arguments, "place");
  const Value* const days = member(arguments, "days");
  const Value* const note = member(arguments, "note");
  return name == "get_weather" && place != nullptr && days != nullptr &&
         arguments.dict().size() == (note == nullptr ? 2 : 3) &&
         (note == nullptr || note->is_string()) &&
         (place->bytes() == "Brest" || place->bytes() == "Lyon") &&
         days->kind() == Value::Kind::kInteger;
}

// What closes a text among the arguments.
std::string_view closing_of(const CallForm& form) {
  const std::string_view style = form.written.style;
  if (style == "json") return "\"";
  if (style == "dialect") return "<|\"|>";
  if (style == "param_xml") return "</param>";
  if (style == "glm_xml") return "</arg_value>";
  return style == "deepseek_xml" ? "</｜DSML｜parameter>" : "</parameter>";
}

class CallGrammar : public testing::Test {
 protected:
  Result<ResponseFormat> format(std::string_view choice, const CallForm& form,
                                const ThoughtForm* thoughts = nullptr, bool has_begun = false) {
    return call_format({tools_, choice, form, thoughts, has_begun});
  }

  void start(const ResponseFormat& format) {
    const Result<std::shared_ptr<const LogitsProcessor>> compiled =
        compiler_->compile(format, {{kEnd}});
    ASSERT_TRUE(compiled) << compiled.error().message << "\n" << format.text;
    processor_ = *compiled;
    state_ = processor_->start({}).value();
  }

  std::vector<TokenId> allowed() {
    std::vector<float> scores(kVocabulary, 1.0F);
    const Status done = processor_->process({{}, 0, {}, state_.get()}, scores);
    EXPECT_TRUE(done) << done.error().message;
    std::vector<TokenId> found;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (!std::isinf(scores[i])) found.push_back(static_cast<TokenId>(i));
    }
    return found;
  }
  bool allows(TokenId token) { return std::ranges::count(allowed(), token) > 0; }

  // Whether the text may come next; it does as far as it may.
  bool goes_on_with(std::string_view text) {
    const std::vector<TokenId> tokens = tokenizer_->encode(text).value().ids;
    for (const TokenId token : tokens) {
      if (!allows(token)) return false;
      EXPECT_TRUE(state_->advance(token));
    }
    return true;
  }

  void take(TokenId token, std::string& text) {
    ASSERT_TRUE(state_->advance(token));
    if (token != kUnread) text += tokenizer_->id_to_token(token).value_or("");
  }

  // Tokens at random up to the end, which comes as soon as it may where `is_short`. Free texts are
  // soon closed as the form does.
  std::string walk(const CallForm& form, bool is_short) {
    const std::vector<TokenId> closing = tokenizer_->encode(closing_of(form)).value().ids;
    std::string text;
    for (int step = 0; step < 2000; ++step) {
      std::vector<TokenId> found = allowed();
      const bool may_end = std::ranges::count(found, kEnd) > 0;
      if (may_end && (is_short || found.size() == 1 || draw_() % 3 == 0)) return text;
      std::erase(found, kEnd);
      if (found.empty()) break;
      const bool is_free = found.size() > 60;
      if (!is_free || draw_() % 8 != 0) {
        take(found[draw_() % found.size()], text);
        continue;
      }
      for (const TokenId token : closing) {
        if (!allows(token)) break;
        take(token, text);
      }
    }
    ADD_FAILURE() << "no end: " << text;
    return text;
  }

  TemplateValue read(const CallForm& form, const ThoughtForm* thoughts, const std::string& text) {
    ResponseOptions options;
    options.keeps_malformed = true;
    options.tools = tools_;
    return parse_response(response::template_of(thoughts, &form), text, "", options).value();
  }

  std::size_t count_valid(const TemplateValue& message) {
    const Value* const calls = member(message.value(), "tool_calls");
    if (calls == nullptr) return 0;
    for (const Value& call : calls->elements()) {
      EXPECT_TRUE(is_valid(call)) << TemplateValue(call).to_json().value();
    }
    return calls->elements().size();
  }

  TemplateValue tools_ = weather_and_sums();
  std::shared_ptr<const Tokenizer> tokenizer_ =
      character_tokenizer({"<|stop|>", "<|other|>", "</tool_call>"});
  std::shared_ptr<const GrammarCompiler> compiler_ =
      GrammarCompiler::create(*tokenizer_, {{kMarker}, {kUnread}}).value();
  std::shared_ptr<const LogitsProcessor> processor_;
  std::unique_ptr<RowState> state_;
  std::mt19937 draw_{30};  // NOLINT(bugprone-random-generator-seed): the same in every run
};

const CallForm& form_of(std::string_view name) {
  return *std::ranges::find(response::call_forms(), name, &CallForm::name);
}

TEST_F(CallGrammar, EveryFormCanBeRequiredAndIsReadAsCallsThatAreValid) {
  for (const CallForm& form : response::call_forms()) {
    std::size_t most = 0;
    const ResponseFormat wanted = format("required", form).value();
    const std::size_t expected = form.written.is_single ? 1 : 2;
    for (int walks = 0; walks < 6 || (most < expected && walks < 40); ++walks) {
      start(wanted);
      const std::string text = walk(form, walks % 2 == 0);
      const TemplateValue message = read(form, nullptr, text);
      const std::size_t calls = count_valid(message);
      EXPECT_GE(calls, 1) << form.name << ": " << text;
      EXPECT_EQ(member(message.value(), "content"), nullptr) << form.name << ": " << text;
      most = std::max(most, calls);
    }
    EXPECT_TRUE(form.written.is_single ? most == 1 : most > 1) << form.name << ": " << most;
  }
}

TEST_F(CallGrammar, ANameAsksForOneCallOfThisTool) {
  for (const CallForm& form : response::call_forms()) {
    start(format("add", form).value());
    const std::string text = walk(form, false);
    const TemplateValue message = read(form, nullptr, text);
    EXPECT_EQ(count_valid(message), 1) << form.name << ": " << text;
    EXPECT_THAT(message.to_json().value(), HasSubstr(R"("name": "add")")) << form.name;
  }
}

TEST_F(CallGrammar, WhatBeginsACallGoesOnAsOneAndOtherTextIsFree) {
  for (const CallForm& form : response::call_forms()) {
    const Result<ResponseFormat> wanted = format("auto", form);
    if (form.written.begin.empty()) {
      EXPECT_THAT(wanted.error().message, HasSubstr("no beginning of their own"));
      continue;
    }
    for (int walks = 0; walks < 6; ++walks) {
      start(*wanted);
      const std::string free = "I [look] \"it\" {up}: <b>\n<tool";
      ASSERT_TRUE(goes_on_with(free)) << form.name;
      EXPECT_TRUE(allows(kEnd)) << form.name;
      EXPECT_TRUE(allows(kUnread)) << form.name;
      std::string begun = free + "\n\n";
      const std::string whole = std::string(form.written.before).append(form.written.call);
      begun.append(whole, 0, whole.find(form.written.begin) + form.written.begin.size());
      ASSERT_TRUE(goes_on_with(std::string_view(begun).substr(free.size()))) << form.name;
      EXPECT_FALSE(allows(kEnd)) << form.name;
      const std::string text = begun + walk(form, true);
      EXPECT_GE(count_valid(read(form, nullptr, text)), 1) << form.name << ": " << text;
    }
  }
}

TEST_F(CallGrammar, ThoughtsAreFreeAlsoWhereTheyNameACall) {
  const CallForm& form = form_of("tool_call with JSON");
  for (const ThoughtForm& thoughts : response::thought_forms()) {
    for (const std::string_view choice : {"auto", "required"}) {
      for (const bool has_begun : {false, true}) {
        start(format(choice, form, &thoughts, has_begun).value());
        std::string text(thoughts.open);
        if (!has_begun) {
          ASSERT_TRUE(goes_on_with(text));
        }
        const std::string thought = "I try <tool_call>{\"a\", no.";
        ASSERT_TRUE(goes_on_with(thought)) << thoughts.name;
        EXPECT_TRUE(allows(kUnread)) << thoughts.name;
        EXPECT_EQ(allows(kEnd), choice == "auto") << thoughts.name;
        ASSERT_TRUE(goes_on_with(thoughts.close)) << thoughts.name;
        EXPECT_EQ(allows(kEnd), choice == "auto") << thoughts.name;
        ASSERT_TRUE(goes_on_with("<tool_call>")) << thoughts.name;
        EXPECT_FALSE(goes_on_with("x")) << thoughts.name << ", " << choice;
        text += thought + std::string(thoughts.close) + "<tool_call>" + walk(form, true);
        const TemplateValue message = read(form, &thoughts, text);
        EXPECT_EQ(count_valid(message), 1) << text;
        EXPECT_EQ(member(message.value(), "reasoning_content")->bytes(), thought);
      }
    }
  }
}

TEST_F(CallGrammar, TextsAmongArgumentsEndNoCall) {
  start(format("auto", form_of("tool_call with JSON")).value());
  ASSERT_TRUE(
      goes_on_with("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": "
                   "{\"place\": \"Brest\", \"days\": 1, \"note\": \"a </tool_call"));
  EXPECT_FALSE(allows(token_of('>')));
  EXPECT_FALSE(allows(kMarker));
  EXPECT_FALSE(allows(kUnread));
  EXPECT_FALSE(allows(kEnd));
  EXPECT_TRUE(goes_on_with("s\"}}\n"));
  EXPECT_TRUE(allows(kMarker)) << "as a token, or as its characters";
  ASSERT_TRUE(state_->advance(kMarker));
  EXPECT_TRUE(allows(kEnd));
  EXPECT_TRUE(allows(kUnread));
}

TEST_F(CallGrammar, FormsThatXgrammarHasNoStyleForFollowSchemas) {
  tools_ = TemplateValue::parse_json(R"([{"type": "function", "function": {"name": "f",
      "parameters": {"type": "object", "required": ["b"], "properties": {
          "c": {"type": ["number", "null"]},
          "b": {"type": "array", "items": {"type": "string", "maxLength": 2}, "minItems": 1,
                "maxItems": 2},
          "A": {"type": "object", "properties": {"x": {"const": 1}, "y": {"type": "string"}}},
          "d": {"anyOf": [{"enum": ["on", "off"]}, {"type": "boolean"}]}}}}}])")
               .value();
  const ResponseFormat wanted = format("required", form_of("call:name")).value();
  for (const std::string_view good :
       {R"(A:{x:1,y:<|"|>a < b<|"|>},b:[<|"|>ab<|"|>],c:-1.5,d:<|"|>on<|"|>)",
        R"(b:[<|"|><|"|>,<|"|>a<|"|>],d:true)", R"(A:{},b:[<|"|>ab<|"|>],c:null)"}) {
    start(wanted);
    EXPECT_TRUE(goes_on_with("<|tool_call>call:f{" + std::string(good) + "}<tool_call|>")) << good;
    EXPECT_TRUE(allows(kEnd));
  }
  for (const std::string_view bad :
       {R"(b:[])", R"(b:[<|"|>abc)", R"(d:)", R"(b:[<|"|>ab<|"|>,<|"|>ab<|"|>,)", R"(A:{x:2)",
        R"(b:[<|"|>ab<|"|>],c:a)", R"(b:[<|"|>ab<|"|>],d:<|"|>in)", R"(})"}) {
    start(wanted);
    EXPECT_FALSE(goes_on_with("<|tool_call>call:f{" + std::string(bad))) << bad;
  }
  const ResponseFormat tags = format("required", form_of("function tag with parameters")).value();
  start(tags);
  EXPECT_TRUE(
      goes_on_with("<function name=\"f\"><param name=\"c\">1.5</param>"
                   "<param name=\"b\">[\"ab\"]</param><param name=\"d\">off</param>"
                   "</function>"));
  start(tags);
  EXPECT_FALSE(goes_on_with("<function name=\"f\"></function>"));
}

TEST_F(CallGrammar, NamesTheWordThatAFormCannotFollow) {
  for (const auto& [schema, word] :
       {std::pair(R"({"type": "string", "pattern": "a"})", "'pattern'"),
        std::pair(R"({"type": "array"})", "without 'items'"),
        std::pair(R"({"$ref": "#"})", "without 'type'"),
        std::pair(R"({"type": "object", "additionalProperties": true})", "'additionalProperties'"),
        std::pair(R"({"type": "string", "maxLength": -1})", "'maxLength': -1"),
        std::pair(R"({"const": [1]})", "a constant that is a list"),
        std::pair(R"({"const": "a<b"})", "a constant with '<'")}) {
    tools_ = TemplateValue::parse_json(R"([{"type": "function", "function": {"name": "f",
        "parameters": {"type": "object", "properties": {"a": )" +
                                       std::string(schema) + "}}}}]")
                 .value();
    const Result<ResponseFormat> refused = format("required", form_of("call:name"));
    ASSERT_FALSE(refused) << schema;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(refused.error().message, HasSubstr("the tool 'f'"));
    EXPECT_THAT(refused.error().message, HasSubstr(word));
  }
}

}  // namespace
}  // namespace polystate
