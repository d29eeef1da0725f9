#include "runner/search/token_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/stopping_criterion.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"

namespace polystate {
namespace {

using testing::HasSubstr;

std::vector<float> logits_after(const FakeTokenModel& fake, const GenerationInput& input,
                                std::span<const TokenId> tokens) {
  const std::vector<std::int64_t> source(input.source.begin(), input.source.end());
  const std::vector<std::int64_t> read(tokens.begin(), tokens.end());
  return fake_logits(fake, source, read);
}

// The log-softmax of logits, by its definition.
std::vector<double> log_softmax(std::span<const float> logits) {
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  std::vector<double> all;
  for (const float logit : logits) all.push_back(static_cast<double>(logit) - std::log(sum));
  return all;
}

// Expects what is reported of a token that follows `tokens` to be what the definition gives.
void expect_logprobs(const TokenLogprobs& found, std::span<const float> logits, TokenId token,
                     std::size_t count) {
  const std::vector<double> all = log_softmax(logits);
  EXPECT_EQ(found.chosen.token, token);
  EXPECT_NEAR(found.chosen.logprob, all[token], 1e-6);
  std::vector<double> best = all;
  std::ranges::sort(best, std::greater());
  ASSERT_EQ(found.top.size(), std::min(count, best.size()));
  for (std::size_t i = 0; i < found.top.size(); ++i) {
    EXPECT_NEAR(found.top[i].logprob, best[i], 1e-6);
    EXPECT_NEAR(found.top[i].logprob, all[found.top[i].token], 1e-6);
  }
}

std::vector<GenerationInput> random_prompts(std::size_t count, unsigned seed) {
  auto inputs = random_inputs(count, seed);
  for (GenerationInput& input : inputs) input = {.source = {}, .prompt = input.source};
  return inputs;
}

TEST(TokenReports, AreOfTheModelsOwnLogitsWhateverProcessorsMakeOfThem) {
  const auto fake = std::make_shared<FakeTokenModel>();
  const auto runner = open_fake(fake);
  const auto inputs = random_inputs(6, 1);
  for (const std::int64_t beams : {1, 3}) {
    for (const std::int64_t count : {0, 3, 100}) {
      GenerationOptions options = options_with_beams(beams);
      config_of(options).logprobs = count;
      config_of(options).max_new_tokens = 8;
      config_of(options).repetition_penalty = 1.7;
      config_of(options).num_return_sequences = beams;
      const Sequences found = generate(*runner, inputs, options);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (const GeneratedSequence& sequence : found[i]) {
          ASSERT_EQ(sequence.logprobs.size(), sequence.ids.size() - 1);
          for (std::size_t t = 0; t < sequence.logprobs.size(); ++t) {
            const auto before = std::span(sequence.ids).first(t + 1);
            expect_logprobs(sequence.logprobs[t], logits_after(*fake, inputs[i], before),
                            sequence.ids[t + 1], static_cast<std::size_t>(count));
          }
        }
      }
    }
  }
}

TEST(TokenReports, ChangeNoSequence) {
  const auto inputs = random_inputs(10, 2);
  for (const std::int64_t beams : {1, 4}) {
    const auto runner = open_fake(std::make_shared<FakeTokenModel>());
    GenerationOptions options = options_with_beams(beams);
    const Sequences plain = generate(*runner, inputs, options);
    config_of(options).logprobs = 2;
    config_of(options).prompt_logprobs = 2;
    config_of(options).output_scores = true;
    config_of(options).output_logits = true;
    EXPECT_TRUE(generate(*runner, inputs, options) == plain);
  }
}

TEST(TokenReports, OfPromptsAreRightHoweverTheyAreCutAndWhateverRunsBeside) {
  for (const std::int64_t wanted : {2, 3, 8, 64}) {
    const auto fake = decoder_alone();
    fake->max_sequences = 2;
    fake->max_wanted = wanted;
    fake->max_step_tokens = 12;
    const auto runner = open_fake(fake);
    const auto inputs = random_prompts(7, 3);
    GenerationOptions options = options_with_beams(1);
    config_of(options).max_new_tokens = 2;
    const Sequences plain = generate(*runner, inputs, options);
    config_of(options).prompt_logprobs = 1;
    const auto results = runner->generate(inputs, options).value();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_TRUE(results[i].sequences == plain[i]);
      EXPECT_EQ(results[i].usage.cached_tokens, 0);
      const auto prompt = std::span(inputs[i].prompt);
      ASSERT_EQ(results[i].prompt_logprobs.size(), prompt.size() - 1);
      for (std::size_t t = 1; t < prompt.size(); ++t) {
        expect_logprobs(results[i].prompt_logprobs[t - 1],
                        logits_after(*fake, inputs[i], prompt.first(t)), prompt[t], 1);
      }
    }
  }
}

TEST(TokenReports, OfAPromptThatFillsTheModelNeedNoRoomForMore) {
  const auto fake = decoder_alone();
  fake->max_wanted = 64;
  const auto runner = open_fake(fake);
  GenerationOptions options = options_with_beams(1);
  config_of(options).prompt_logprobs = 0;
  config_of(options).max_new_tokens = 0;
  const std::vector<GenerationInput> inputs = {
      {.source = {}, .prompt = std::vector<TokenId>(50, 5)}, {.source = {}, .prompt = {7}}};
  const auto results = runner->generate(inputs, options).value();
  EXPECT_EQ(results[0].prompt_logprobs.size(), 49U);
  EXPECT_EQ(results[1].prompt_logprobs.size(), 0U);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(results[i].sequences.front().ids, inputs[i].prompt);
    EXPECT_EQ(results[i].usage.generated_tokens, 0);
  }
  EXPECT_EQ(fake->tokens, 51) << "each token is read once";
}

TEST(TokenReports, WithoutThemNoMoreLogitsAreAskedFor) {
  const auto fake = decoder_alone();
  fake->max_wanted = 64;
  const auto runner = open_fake(fake);
  GenerationOptions options = options_with_beams(1);
  config_of(options).max_new_tokens = 3;
  config_of(options).eos_token_id = {};
  const std::vector<GenerationInput> inputs = {
      {.source = {}, .prompt = std::vector<TokenId>(20, 5)}};
  (void)generate(*runner, inputs, options);
  EXPECT_EQ(fake->logits, 3);
}

TEST(TokenReports, OfAStreamThatEndsAreOfWhatWasHeard) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  GenerationOptions options = options_with_beams(1);
  config_of(options).eos_token_id = {};
  config_of(options).logprobs = 0;
  config_of(options).output_logits = true;
  std::size_t heard = 0;
  options.on_token = [&](std::size_t, TokenId) { return ++heard < 3; };
  const Sequences found = generate(*runner, random_inputs(1, 4), options);
  const GeneratedSequence& sequence = found.front().front();
  EXPECT_EQ(sequence.ids.size(), 4U);
  EXPECT_EQ(sequence.logprobs.size(), 3U);
  EXPECT_EQ(sequence.logits.size(), 3U * 40U);
  EXPECT_EQ(sequence.finish_reason, FinishReason::kUnfinished);
}

TEST(TokenReports, OfLogitsThatHaveNoProbabilitiesAreRefused) {
  const std::vector<float> logits = {1.0F, std::numeric_limits<float>::quiet_NaN()};
  const auto found = token_logprobs(logits, 0, 1);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::kContract);
  EXPECT_THAT(found.error().message, HasSubstr("NaN"));
}

TEST(TokenReports, SayWhyASequenceEnded) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(60, 5);
  for (const std::int64_t beams : {1, 3}) {
    GenerationOptions options = options_with_beams(beams);
    config_of(options).max_length = 20;
    std::size_t ended = 0;
    for (const auto& sequences : generate(*runner, inputs, options)) {
      const GeneratedSequence& sequence = sequences.front();
      const bool has_end = sequence.ids.back() == 1;
      ended += has_end ? 1 : 0;
      EXPECT_EQ(sequence.finish_reason, has_end ? FinishReason::kStop : FinishReason::kLength);
      EXPECT_TRUE(has_end || sequence.ids.size() == 20);
    }
    EXPECT_GT(ended, 0U);
    EXPECT_LT(ended, inputs.size());
    config_of(options).eos_token_id = {};
    config_of(options).max_time = 0.0;
    for (const auto& sequences : generate(*runner, inputs, options)) {
      EXPECT_EQ(sequences.front().finish_reason, FinishReason::kMaxTime);
    }
  }
}

// Is met by a sequence that has two tokens of the upper half.
class TwoLarge final : public StoppingCriterion {
 public:
  Result<bool> is_met(const TokenContext& context) const override {
    const auto generated = context.tokens.subspan(context.prompt_length);
    return std::ranges::count_if(generated, [](TokenId token) { return token >= 20; }) == 2;
  }
};

TEST(StoppingCriteria, EndSequencesAndBeams) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  for (const std::int64_t beams : {1, 4}) {
    GenerationOptions options = options_with_beams(beams);
    config_of(options).eos_token_id = {};
    options.stopping_criteria = {std::make_shared<TwoLarge>()};
    for (const auto& sequences : generate(*runner, random_inputs(20, 6), options)) {
      const GeneratedSequence& sequence = sequences.front();
      EXPECT_EQ(sequence.finish_reason, FinishReason::kStoppingCriterion);
      EXPECT_GE(sequence.ids.back(), 20U);
      EXPECT_TRUE(TwoLarge().is_met({sequence.ids, 1, {}}).value());
    }
  }
}

// Fails with the third token.
class Failing final : public StoppingCriterion {
 public:
  Result<bool> is_met(const TokenContext& context) const override {
    if (context.tokens.size() < 4) return false;
    return Error{ErrorCode::kContract, "the criterion fails"};
  }
};

TEST(StoppingCriteria, ThatFailEndTheGeneration) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  for (const std::int64_t beams : {1, 4}) {
    GenerationOptions options = options_with_beams(beams);
    config_of(options).eos_token_id = {};
    options.stopping_criteria = {std::make_shared<Failing>()};
    const auto failed = runner->generate(random_inputs(3, 6), options);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "the criterion fails");
    EXPECT_TRUE(runner->generate(random_inputs(3, 6), options_with_beams(beams)));
  }
}

}  // namespace
}  // namespace polystate
