#include "pipeline/text_pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipeline/wrapped_tokenizer.h"
#include "polystate/chat_template/chat_templates.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/pipeline.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"
#include "polystate/tokenizer/decode_stream.h"
#include "polystate/tokenizer/options.h"
#include "polystate/tokenizer/tokenizer.h"

namespace polystate {
namespace {

using testing::ElementsAre;

// Words are tokens; a text ends with </s>, and words are decoded with spaces between them.
constexpr std::string_view kTokenizer = R"({
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 0, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
     "normalized": false, "special": true}],
  "normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"</s>": {"id": "</s>", "ids": [0], "tokens": ["</s>"]}}},
  "decoder": null,
  "model": {"type": "WordLevel", "unk_token": "?",
            "vocab": {"</s>": 0, "a": 1, "b": 2, "c": 3, "d": 4, "?": 5}}})";

// Answers with its input's tokens in reverse, step by step, and keeps what it was asked: after a
// start token, or without sources after the prompt.
class Reversing final : public Runner {
 public:
  explicit Reversing(std::int64_t max_source_length) : max_source_length_(max_source_length) {}

  Result<std::vector<GenerationResult>> generate(std::span<const GenerationInput> inputs,
                                                 const GenerationOptions& options) override {
    asked.assign(inputs.begin(), inputs.end());
    config = options.config;
    criteria = options.stopping_criteria;
    std::vector<GenerationResult> results;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& text = max_source_length_ > 0 ? inputs[i].source : inputs[i].prompt;
      GeneratedSequence sequence{inputs[i].prompt, 0.5F};
      if (sequence.ids.empty()) sequence.ids = {0};
      for (const TokenId token : std::vector(text.rbegin(), text.rend())) {
        sequence.ids.push_back(token);
        if (options.on_token != nullptr && !options.on_token(i, token)) break;
      }
      GenerationResult result{{std::move(sequence)}, {.prompt_tokens = std::ssize(text)}};
      if (options.on_done != nullptr) options.on_done(i, result.usage);
      if (options.on_progress != nullptr) options.on_progress(i + 1);
      results.push_back(std::move(result));
    }
    return results;
  }
  Result<RequestId> submit(GenerationInput, RequestOptions) override { return RequestId{0}; }
  void cancel(RequestId) override {}
  Result<bool> step() override { return false; }

  [[nodiscard]] const GenerationConfig& default_config() const override { return config_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }
  [[nodiscard]] std::int64_t max_source_length() const override { return max_source_length_; }
  [[nodiscard]] std::int64_t max_length() const override { return 10; }

  std::vector<GenerationInput> asked;
  std::optional<GenerationConfig> config;
  StoppingCriteria criteria;

 private:
  std::int64_t max_source_length_;
  GenerationConfig config_;
  std::vector<std::string> warnings_ = {"a warning of the runner"};
};

class TextToText : public testing::Test {
 protected:
  explicit TextToText(std::int64_t max_source_length = 4) {
    auto runner = std::make_unique<Reversing>(max_source_length);
    runner_ = runner.get();
    pipeline_ = std::make_unique<TextPipeline>(
        "reversal", Tokenizer::parse(TokenizerFormat::kTokenizerJson, kTokenizer).value(),
        std::move(runner));
  }

  Result<std::vector<std::vector<GeneratedText>>> run(const std::vector<std::string>& texts,
                                                      const PipelineOptions& options = {}) {
    return pipeline_->run(texts, options);
  }

  Reversing* runner_ = nullptr;
  std::unique_ptr<Pipeline> pipeline_;
};

TEST_F(TextToText, AnswersWithTextTokensAndScores) {
  const auto answers = run({"a b c", "d"}).value();
  EXPECT_THAT(runner_->asked[0].source, ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(answers[0][0].text, "c b a");
  EXPECT_THAT(answers[0][0].ids, ElementsAre(0, 0, 3, 2, 1));
  EXPECT_EQ(answers[0][0].score, 0.5F);
  EXPECT_EQ(answers[1][0].text, "d");
  EXPECT_EQ(pipeline_->run("a b").value(), "b a");
}

TEST_F(TextToText, AnswersTextsThatAreWrittenInTheCall) {
  const auto answers = pipeline_->run({"a b", "c"}).value();
  ASSERT_EQ(answers.size(), 2);
  EXPECT_EQ(answers[0][0].text, "b a");
  EXPECT_EQ(answers[1][0].text, "c");
  const std::string text = "d c";
  EXPECT_EQ(pipeline_->run({text}, {}).value()[0][0].text, "c d");
  EXPECT_EQ(pipeline_->run({"a b"}).value()[0][0].text, "b a");
  EXPECT_TRUE(pipeline_->run({}).value().empty());
  EXPECT_EQ(pipeline_->run(text).value(), "c d");
}

TEST_F(TextToText, LeavesTheConfigurationToTheRunner) {
  ASSERT_TRUE(run({"a"}));
  EXPECT_FALSE(runner_->config);
  GenerationConfig config = pipeline_->default_config();
  config.num_beams = 3;
  PipelineOptions options;
  options.config = config;
  ASSERT_TRUE(run({"a"}, options));
  EXPECT_EQ(runner_->config.value_or(GenerationConfig()).num_beams, 3);
}

TEST_F(TextToText, GivesStopStringsToTheRunnerAsACriterion) {
  PipelineOptions options;
  options.config.emplace().stop_strings = {"b a"};
  ASSERT_TRUE(run({"a b"}, options));
  ASSERT_TRUE(runner_->config);
  EXPECT_TRUE(runner_->config.value_or(GenerationConfig()).stop_strings.empty());
  ASSERT_EQ(runner_->criteria.size(), 1U);
  EXPECT_EQ(runner_->criteria[0]->reason(), FinishReason::kStopString);
  const std::vector<TokenId> tokens = {3, 2, 1};
  EXPECT_TRUE(runner_->criteria[0]->is_met({tokens, 0, {}}).value());
  EXPECT_FALSE(runner_->criteria[0]->is_met({std::span(tokens).first(2), 0, {}}).value());
}

TEST_F(TextToText, RefusesALongTextByItsNameAndBothLengths) {
  const auto refused = run({"a", "a b c d"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kContract);
  EXPECT_EQ(refused.error().message,
            "input 1 has 5 tokens, and the model takes 4: split the text, or have it truncated");
  EXPECT_TRUE(runner_->asked.empty());
  PipelineOptions options;
  options.name_of = [](std::size_t input) { return "line " + std::to_string(input + 1); };
  EXPECT_THAT(run({"a", "a b c d"}, options).error().message, testing::StartsWith("line 2 has 5"));
}

TEST_F(TextToText, TruncatesTheTextItselfAndKeepsWhatTheTokenizerAdds) {
  PipelineOptions options;
  options.truncate = true;
  ASSERT_TRUE(run({"a b c d a b", "a"}, options));
  EXPECT_THAT(runner_->asked[0].source, ElementsAre(1, 2, 3, 0));
  EXPECT_THAT(runner_->asked[1].source, ElementsAre(1, 0));
}

TEST_F(TextToText, StreamsEachTextAndThenSaysThatItIsDone) {
  std::vector<std::string> heard(2);
  std::vector<std::int64_t> costs;
  std::vector<std::size_t> progress;
  PipelineOptions options;
  options.on_text = [&](std::size_t input, std::string_view piece) {
    heard[input] += piece;
    return true;
  };
  options.on_done = [&](std::size_t input, const GenerationUsage& usage) {
    heard[input] += '|';
    costs.push_back(usage.prompt_tokens);
  };
  options.on_progress = [&](std::size_t done) { progress.push_back(done); };
  ASSERT_TRUE(run({"a b c", "d"}, options));
  EXPECT_THAT(heard, ElementsAre("c b a|", "d|"));
  EXPECT_THAT(costs, ElementsAre(4, 2));
  EXPECT_THAT(progress, ElementsAre(1U, 2U));
}

TEST_F(TextToText, EndsAStreamWhoseListenerHasEnough) {
  std::string heard;
  PipelineOptions options;
  options.on_text = [&](std::size_t, std::string_view piece) {
    heard += piece;
    return heard.size() < 3;
  };
  ASSERT_TRUE(run({"a b c"}, options));
  EXPECT_EQ(heard, "c b");
}

// Its streams give an x for each token, and another one at the end.
class HoldingBack final : public WrappedTokenizer {
 public:
  using WrappedTokenizer::WrappedTokenizer;
  [[nodiscard]] std::unique_ptr<DecodeStream> decode_stream(const DecodeOptions&) const override {
    class Stream final : public DecodeStream {
      Result<std::string> push(TokenId) override { return std::string("x"); }
      Result<std::string> finish() override { return std::string("x"); }
    };
    return std::make_unique<Stream>();
  }
};

TEST_F(TextToText, TellsNothingMoreOnceAListenerHasEnough) {
  TextPipeline pipeline("reversal", std::make_shared<HoldingBack>(pipeline_->tokenizer()),
                        std::make_unique<Reversing>(4));
  for (const std::size_t enough : {1U, 3U, 9U}) {
    std::string heard;
    PipelineOptions options;
    options.on_text = [&](std::size_t, std::string_view piece) {
      heard += piece;
      return heard.size() < enough;
    };
    ASSERT_TRUE(pipeline.run(std::vector<std::string>{"a b c"}, options));
    EXPECT_EQ(heard.size(), std::min<std::size_t>(enough, 5));  // four tokens, and the end
  }
}

TEST_F(TextToText, PassesOnWhatItsRunnerWarnsOf) {
  EXPECT_THAT(pipeline_->warnings(), ElementsAre("a warning of the runner"));
  EXPECT_EQ(pipeline_->task(), "reversal");
}

class TextGeneration : public TextToText {
 protected:
  TextGeneration() : TextToText(0) {}
};

TEST_F(TextGeneration, GivesTheModelAPromptAndAnswersWithWhatFollows) {
  EXPECT_TRUE(pipeline_->continues_texts());
  const auto answers = run({"a b c", "d"}).value();
  EXPECT_TRUE(runner_->asked[0].source.empty());
  EXPECT_THAT(runner_->asked[0].prompt, ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(answers[0][0].text, " c b a");
  EXPECT_THAT(answers[0][0].ids, ElementsAre(1, 2, 3, 0, 0, 3, 2, 1));
  EXPECT_EQ(answers[1][0].text, " d");
  EXPECT_EQ(pipeline_->run("a b").value(), " b a");
}

TEST_F(TextGeneration, StreamsWhatFollows) {
  std::vector<std::string> heard(2);
  PipelineOptions options;
  options.on_text = [&](std::size_t input, std::string_view piece) {
    heard[input] += piece;
    return true;
  };
  ASSERT_TRUE(run({"a b", ""}, options));
  EXPECT_THAT(heard, ElementsAre(" b a", ""));
}

TEST_F(TextGeneration, LeavesSpecialTokensToTheCaller) {
  PipelineOptions options;
  options.add_special_tokens = false;
  options.skip_special_tokens = false;
  EXPECT_EQ(run({"a b </s>"}, options).value()[0][0].text, " </s> b a");
  EXPECT_THAT(runner_->asked[0].prompt, ElementsAre(1, 2, 0));
  ASSERT_TRUE(run({""}, options));  // the runner has its start token
  EXPECT_TRUE(runner_->asked[0].prompt.empty());
}

TEST_F(TextGeneration, TruncatesAPromptAtItsBeginningToLeaveRoomForNewTokens) {
  PipelineOptions options;
  options.truncate = true;
  const std::string text = "a b c d a b c d a b c d";
  ASSERT_TRUE(run({text}, options));  // 10 tokens in all, one of them new
  EXPECT_THAT(runner_->asked[0].prompt, ElementsAre(1, 2, 3, 4, 1, 2, 3, 4, 0));
  options.config.emplace().max_new_tokens = 7;
  ASSERT_TRUE(run({text, "a"}, options));
  EXPECT_THAT(runner_->asked[0].prompt, ElementsAre(3, 4, 0));
  EXPECT_THAT(runner_->asked[1].prompt, ElementsAre(1, 0));
  options.config.emplace().max_length = 5;
  ASSERT_TRUE(run({text}, options));
  EXPECT_THAT(runner_->asked[0].prompt, ElementsAre(2, 3, 4, 0));
  options.config.emplace().max_new_tokens = 20;  // which the runner refuses
  ASSERT_TRUE(run({text}, options));
  EXPECT_THAT(runner_->asked[0].prompt, ElementsAre(0));
  options.config->context = ContextPolicy::kSlide;  // which needs no room
  ASSERT_TRUE(run({text}, options));
  EXPECT_EQ(runner_->asked[0].prompt.size(), 13U);
}

TEST_F(TextGeneration, RefusesAConversationByItsName) {
  std::vector<ChatInput> chats(2);
  for (ChatInput& chat : chats) {
    chat.messages = TemplateValue::parse_json(R"([{"role": "user", "content": "a"}])").value();
    chat.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}";
  }
  ASSERT_TRUE(pipeline_->run_chats(chats, {}));
  chats[1].chat_template = "{% for m in messages %}{{ m.content }}";
  PipelineOptions options;
  EXPECT_THAT(pipeline_->run_chats(chats, options).error().message,
              testing::StartsWith("input 1: "));
  options.name_of = [](std::size_t input) { return "line " + std::to_string(input + 1); };
  EXPECT_THAT(pipeline_->run_chats(chats, options).error().message,
              testing::StartsWith("line 2: "));
}

}  // namespace
}  // namespace polystate
