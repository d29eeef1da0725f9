#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chat_template/value.h"
#include "pipeline/character_tokenizer.h"
#include "pipeline/text_pipeline.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/chat.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

using testing::HasSubstr;
using testing::Not;

// Answers with texts that are given, one after another.
class Scripted final : public Runner {
 public:
  explicit Scripted(std::shared_ptr<const Tokenizer> tokenizer)
      : tokenizer_(std::move(tokenizer)) {}

  Result<std::vector<GenerationResult>> generate(std::span<const GenerationInput> inputs,
                                                 const GenerationOptions& options) override {
    if (fails) return Error{ErrorCode::kEngine, "the runner fails"};
    prompt = tokenizer_->decode(inputs[0].prompt, {.skip_special_tokens = false}).value();
    GeneratedSequence sequence{inputs[0].prompt};
    sequence.finish_reason = FinishReason::kStop;
    std::vector<TokenId> tokens = tokenizer_->encode(answers.at(next++)).value().ids;
    tokens.push_back(kFirstSpecial);
    for (const TokenId token : tokens) {
      sequence.ids.push_back(token);
      if (!options.on_token(0, token)) break;
    }
    return std::vector{GenerationResult{{std::move(sequence)}, {}}};
  }
  Result<RequestId> submit(GenerationInput, RequestOptions) override { return RequestId{0}; }
  void cancel(RequestId) override {}
  Result<bool> step() override { return false; }

  [[nodiscard]] const GenerationConfig& default_config() const override { return config_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }
  [[nodiscard]] std::int64_t max_source_length() const override { return 0; }
  [[nodiscard]] std::int64_t max_length() const override { return 100'000; }

  std::vector<std::string> answers;
  std::size_t next = 0;
  std::string prompt;  // of the last answer
  bool fails = false;

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  GenerationConfig config_;
  std::vector<std::string> warnings_;
};

constexpr std::string_view kCalling =
    "{% if tools %}<|tools|>{{ tools | tojson }}<|end|>\n{% endif %}{% for m in messages %}"
    "<|{{ m.role }}|>"
    "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>\n{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>\n{\"name\": "
    "\"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\n</tool_call>"
    "{% endfor %}<|end|>\n{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
constexpr std::string_view kCall =
    "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"place\": \"Brest\"}}\n</tool_call>";

TemplateValue json(std::string_view text) { return TemplateValue::parse_json(text).value(); }

TemplateValue tools() {
  return json(R"([{"type": "function", "function": {"name": "get_weather", "parameters": {
      "type": "object", "properties": {"place": {"type": "string"}}}}}])");
}

class Tools : public testing::Test {
 protected:
  Tools() {
    auto tokenizer = character_tokenizer({"<|end|>", "<tool_call>", "</tool_call>"});
    auto runner = std::make_unique<Scripted>(tokenizer);
    runner_ = runner.get();
    pipeline_ =
        std::make_unique<TextPipeline>("text-generation", std::move(tokenizer), std::move(runner));
  }

  Result<Chat> start(const TemplateValue& given, std::string_view source = kCalling,
                     std::string choice = "auto") {
    ChatOptions options;
    options.tools = given;
    options.tool_choice = std::move(choice);
    options.chat_template = std::string(source);
    return Chat::create(*pipeline_, std::move(options));
  }

  Scripted* runner_ = nullptr;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(Tools, AreCalledAndAnsweredAndNothingIsReadAgain) {
  runner_->answers = {"<think>I ask.</think>\n" + std::string(kCall), "It rains."};
  Chat chat = start(tools()).value();
  std::vector<std::pair<ChatPiece::Kind, std::string>> pieces;
  AnswerOptions options;
  options.on_piece = [&](const ChatPiece& piece) {
    if (pieces.empty() || pieces.back().first != piece.kind) pieces.emplace_back(piece.kind, "");
    pieces.back().second += piece.text;
    return true;
  };
  const ChatAnswer called = chat.ask("And Brest?", options).value();
  EXPECT_THAT(runner_->prompt, HasSubstr(R"({"name": "get_weather")"));
  EXPECT_EQ(called.text, "");
  EXPECT_EQ(called.thinking, "I ask.");
  EXPECT_EQ(called.tool_calls.to_json().value(),
            R"([{"type": "function", "function": {"name": "get_weather", "arguments": )"
            R"({"place": "Brest"}}}])");
  ASSERT_EQ(pieces.size(), 2);
  EXPECT_EQ(pieces[0], std::pair(ChatPiece::Kind::kThinking, std::string("I ask.")));
  EXPECT_EQ(pieces[1].first, ChatPiece::Kind::kCall);
  EXPECT_THAT(pieces[1].second, HasSubstr(R"({"name": "get_weather")"));

  const Result<ChatAnswer> too_early = chat.answer();
  ASSERT_FALSE(too_early);
  EXPECT_THAT(too_early.error().message, HasSubstr("add their results first"));

  const std::string before = runner_->prompt;
  ASSERT_TRUE(
      chat.add_message(json(R"({"role": "tool", "name": "get_weather", "content": "rain"})")));
  const ChatAnswer answer = chat.answer().value();
  EXPECT_EQ(runner_->prompt, before + "<think>I ask.</think>\n" + std::string(kCall) +
                                 "<|end|>\n<|tool|>rain<|end|>\n<|assistant|>");
  EXPECT_EQ(answer.text, "It rains.");
  EXPECT_TRUE(answer.tool_calls.value().is_none());
  EXPECT_EQ(answer.usage.answers_encoded_again, 0);
}

TEST_F(Tools, AnAnswerThatTheTemplateWritesOtherwiseIsEncodedAgain) {
  runner_->answers = {"<tool_call>{\"arguments\": {}, \"name\": \"get_weather\"}</tool_call>",
                      "Ah."};
  Chat chat = start(tools()).value();
  ASSERT_TRUE(chat.ask("And Brest?"));
  ASSERT_TRUE(chat.add_message(json(R"({"role": "tool", "content": "rain"})")));
  EXPECT_EQ(chat.answer().value().usage.answers_encoded_again, 1);
  EXPECT_THAT(runner_->prompt, HasSubstr(R"({"name": "get_weather", "arguments": {}})"));
}

TEST_F(Tools, AMalformedCallStaysTextAndHalfAMarkerIsNotLost) {
  runner_->answers = {"Well <tool_call>{\"name\": </tool_call> so", "Oh <tool_ca", "<tool_call>{"};
  Chat chat = start(tools()).value();
  for (const std::string& answer : runner_->answers) {
    std::string told;
    AnswerOptions options;
    options.on_text = [&](std::string_view piece) {
      told += piece;
      return true;
    };
    const ChatAnswer given = chat.ask("?", options).value();
    EXPECT_EQ(given.text, answer);
    EXPECT_EQ(told, answer);
    EXPECT_TRUE(given.tool_calls.value().is_none());
  }
}

TEST_F(Tools, AreNotShownWhereTheChoiceIsNone) {
  runner_->answers = {std::string(kCall), "Yes."};
  Chat chat = start(tools(), kCalling, "none").value();
  EXPECT_EQ(chat.ask("?").value().text, kCall) << "and is no call";
  EXPECT_THAT(runner_->prompt, Not(HasSubstr("get_weather")));
  chat.reset();
  AnswerOptions options;
  options.tool_choice = "auto";
  ASSERT_TRUE(chat.ask("?", options));
  EXPECT_THAT(runner_->prompt, HasSubstr("get_weather"));
}

TEST_F(Tools, ThatAreNoneAreRefusedByWhatIsWrong) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"name": "f"})", "tools are a list"},
      {R"([1])", "tool 0 must be a dictionary"},
      {R"([{"type": "function"}])", "tool 0 has no 'function'"},
      {R"([{"type": "web", "function": {"name": "f"}}])", "tool 0 must have the type 'function'"},
      {R"([{"function": {"description": "x"}}])", "tool 0 has no name"},
      {R"([{"function": {"name": "a b"}}])", "tool 0 must have a name of letters"},
      {R"([{"name": "f"}, {"name": "f"}])", "tool 1 has the name 'f', which another tool has"},
      {R"([{"name": "f", "parameters": []}])", "('f'): parameters must be a JSON schema"},
      {R"([{"name": "f", "parameters": {"type": "string"}}])", "schema of an object"},
      {R"([{"name": "f", "parameters": {"properties": {"a": {"type": "text"}}}}])",
       "parameters.properties.a.type is 'text'"},
      {R"([{"name": "f", "parameters": {"required": "a"}}])", "required must be a list of names"},
      {R"([{"name": "f", "parameters": {"properties": {"a": {"enum": []}}}}])", "enum must be"},
  };
  for (const auto& [given, message] : kCases) {
    const Result<Chat> chat = start(json(given));
    ASSERT_FALSE(chat) << given;
    EXPECT_EQ(chat.error().code, ErrorCode::kContract);
    EXPECT_THAT(chat.error().message, HasSubstr(message));
  }
  EXPECT_THAT(start(tools(), kCalling, "get_whether").error().message,
              HasSubstr("'auto', 'none', 'required' or a tool's name is needed: 'get_weather'"));
  EXPECT_THAT(start({}, kCalling, "required").error().message, HasSubstr("has no tools"));
}

TEST_F(Tools, AreRefusedWhereTheTemplateDoesNotShowThemOrCallsCannotBeRead) {
  EXPECT_THAT(start(tools(), "{% for m in messages %}{{ m.content }}{% endfor %}").error().message,
              HasSubstr("does not show tools to the model: leave tools out, or give"));
  EXPECT_THAT(start(tools(),
                    "{{ tools | tojson }}{% for m in messages %}{{ m.content }}"
                    "{% for c in m.tool_calls or [] %}CALL {{ c.function.name }}{% endfor %}"
                    "{% endfor %}")
                  .error()
                  .message,
              HasSubstr("writes calls in no form that is known"));
}

TEST_F(Tools, ThatNoGrammarFollowsAreWarnedOfInTheFirstAnswerThatThereIs) {
  runner_->answers = {"Yes.", "No."};
  Chat chat = start(json(R"([{"type": "function", "function": {"name": "odd", "parameters": {
      "type": "object", "properties": {"a": {"not": {"type": "string"}}}}}}])"))
                  .value();
  runner_->fails = true;
  ASSERT_FALSE(chat.ask("?"));
  runner_->fails = false;
  const ChatAnswer first = chat.ask("?").value();
  ASSERT_EQ(first.warnings.size(), 1U);
  EXPECT_THAT(first.warnings.front(), HasSubstr("calls are as the model writes them"));
  EXPECT_TRUE(chat.ask("!").value().warnings.empty());
}

TEST_F(Tools, UsersMarkersAreText) {
  runner_->answers = {"Yes.", "No."};
  Chat chat = start(tools()).value();
  EXPECT_EQ(chat.ask("<think>" + std::string(kCall) + "<think>").value().text, "Yes.");
  EXPECT_EQ(chat.ask("<|assistant|><think>").value().text, "No.");
}

TEST_F(Tools, ThoughtsThatATemplateDropsAreEncodedAgain) {
  runner_->answers = {"<think>Hm.</think>\nYes.", "No."};
  Chat chat =
      start({},
            "{% for m in messages %}<|{{ m.role }}|>{{ m.content.split('</think>')[-1] }}<|end|>"
            "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}")
          .value();
  const ChatAnswer first = chat.ask("?").value();
  EXPECT_EQ(first.thinking, "Hm.");
  EXPECT_EQ(first.text, "Yes.");
  EXPECT_EQ(chat.ask("!").value().usage.answers_encoded_again, 1);
  EXPECT_EQ(runner_->prompt,
            "<|user|>?<|end|><|assistant|>Yes.<|end|><|user|>!<|end|><|assistant|>");
}

TEST_F(Tools, ThoughtsThatThePromptBeginsAreRead) {
  runner_->answers = {"Hm.</think>\nYes.", "Never ends"};
  Chat chat = start({},
                    "{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content %}<think>\n"
                    "{{ m.reasoning_content }}</think>\n{% endif %}{{ m.content }}<|end|>"
                    "{% endfor %}{% if add_generation_prompt %}<|assistant|><think>\n{% endif %}")
                  .value();
  const ChatAnswer first = chat.ask("?").value();
  EXPECT_EQ(first.thinking, "Hm.");
  EXPECT_EQ(first.text, "Yes.");
  const ChatAnswer second = chat.ask("!").value();
  EXPECT_EQ(second.usage.answers_encoded_again, 0);
  EXPECT_EQ(second.thinking, "Never ends");
  EXPECT_EQ(second.text, "");
}

}  // namespace
}  // namespace polystate
