// What the differential tests in Python do not compare: errors, and the user's own processors.

#include "polystate/sampler/logits_processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "sampler/configuring.h"

namespace polystate {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr ProcessorContext kSetting = {.prompt_length = 1, .max_length = 10, .vocabulary_size = 5};

Status process(const LogitsProcessors& processors, std::vector<float>& scores,
               const std::vector<TokenId>& tokens = {0}) {
  for (const auto& processor : processors) {
    const Status status = processor->process({tokens, 1, {}}, scores);
    if (!status) return status;
  }
  return {};
}

TEST(LogitsProcessors, ADefaultConfigurationAsksForNone) {
  EXPECT_THAT(make_logits_processors({}, kSetting).value(), IsEmpty());
}

TEST(LogitsProcessors, ATokenOutsideOfTheVocabularyIsRefusedByName) {
  for (const auto& config :
       {with("sequence_bias", "[[[1, 5], 1.0]]"), with("bad_words_ids", "[[1], [5]]"),
        with("forced_bos_token_id", "5"), with("forced_eos_token_id", "[1, 5]")}) {
    const auto processors = make_logits_processors(config, kSetting);
    ASSERT_FALSE(processors);
    EXPECT_EQ(processors.error().code, ErrorCode::kContract);
    EXPECT_THAT(processors.error().message, AllOf(HasSubstr("token 5"), HasSubstr("of 5")));
  }
}

TEST(LogitsProcessors, ATokenThatIsNeverChosenNeedNotBeSuppressed) {
  GenerationConfig config = with("suppress_tokens", "[1, 500]");
  ASSERT_TRUE(config.set("begin_suppress_tokens", "[2, 500]"));
  ASSERT_TRUE(config.set("eos_token_id", "[3, 500]"));
  ASSERT_TRUE(config.set("min_length", "4"));
  std::vector<float> scores(5, 0.0F);
  ASSERT_TRUE(process(make_logits_processors(config, kSetting).value(), scores));
  EXPECT_THAT(scores, ElementsAre(0.0F, -kInfinity, -kInfinity, -kInfinity, 0.0F));
}

TEST(LogitsProcessors, WhatValidateRefusesMakesNone) {
  GenerationConfig config;
  config.num_beams = 0;
  EXPECT_EQ(make_logits_processors(config, kSetting).error().code, ErrorCode::kContract);
}

TEST(LogitsProcessors, ASequenceThatIsLongerThanTheRowHasNoEffect) {
  const GenerationConfig config = with("bad_words_ids", "[[0, 1, 2]]");
  const auto processors = make_logits_processors(config, kSetting).value();
  std::vector<float> scores(5, 0.0F);
  ASSERT_TRUE(process(processors, scores, {1}));
  EXPECT_EQ(scores[2], 0.0F);
  ASSERT_TRUE(process(processors, scores, {4, 0, 1}));
  EXPECT_EQ(scores[2], -kInfinity);
}

TEST(LogitsProcessors, TokensBeyondTheScoresAreReadWithoutHarm) {
  GenerationConfig config = with("repetition_penalty", "2.0");
  ASSERT_TRUE(config.set("encoder_repetition_penalty", "2.0"));
  ASSERT_TRUE(config.set("no_repeat_ngram_size", "1"));
  ASSERT_TRUE(config.set("encoder_no_repeat_ngram_size", "1"));
  std::vector<float> scores(5, 1.0F);
  ASSERT_TRUE(
      process(make_logits_processors(config, kSetting).value(), scores, {4000000000U, 7, 2}));
  EXPECT_THAT(scores, ElementsAre(1.0F, 1.0F, -kInfinity, 1.0F, 1.0F));
}

TEST(LogitsProcessors, ScoresWithoutProbabilitiesAreAnErrorOfEachThatNeedsThem) {
  for (const std::string_view name :
       {"top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff"}) {
    GenerationConfig config = with("top_k", "0");
    config.do_sample = true;
    ASSERT_TRUE(config.set(name, name == "top_k" ? "3" : "0.5"));
    const auto processors = make_logits_processors(config, kSetting).value();
    ASSERT_THAT(processors, SizeIs(1));
    for (std::vector<float> scores :
         {std::vector<float>{0, kNaN, 1, 2, 3}, std::vector<float>(5, -kInfinity)})
      EXPECT_EQ(process(processors, scores).error().code, ErrorCode::kContract) << name;
  }
}

TEST(LogitsProcessors, OneTokenStaysHoweverStrictTheLimits) {
  GenerationConfig config = with("top_p", "0.0");
  config.do_sample = true;
  ASSERT_TRUE(config.set("top_k", "1"));
  ASSERT_TRUE(config.set("min_p", "1.0"));
  ASSERT_TRUE(config.set("typical_p", "0.01"));
  ASSERT_TRUE(config.set("epsilon_cutoff", "0.99"));
  ASSERT_TRUE(config.set("eta_cutoff", "0.99"));
  std::vector<float> scores = {0.0F, 0.5F, 0.25F, 0.5F, 0.0F};
  ASSERT_TRUE(process(make_logits_processors(config, kSetting).value(), scores));
  EXPECT_THAT(scores, ElementsAre(-kInfinity, 0.5F, -kInfinity, -kInfinity, -kInfinity));
}

// Gives every token the number of tokens of the row as its score.
class CountTokens final : public LogitsProcessor {
 public:
  Status process(const TokenContext& context, std::span<float> scores) const override {
    for (float& score : scores) score = static_cast<float>(context.tokens.size());
    return {};
  }
};

TEST(LogitsProcessors, TheUsersOwnRunBeforeTemperatureAndAfterWhatForbidsTokens) {
  GenerationConfig config = with("suppress_tokens", "[1]");
  config.do_sample = true;
  config.temperature = 2.0;
  const auto processors =
      make_logits_processors(config, kSetting, {std::make_shared<CountTokens>()}).value();
  std::vector<float> scores(5, 7.0F);
  ASSERT_TRUE(process(processors, scores, {0, 3, 4}));
  EXPECT_THAT(scores, ElementsAre(1.5F, 1.5F, 1.5F, 1.5F, 1.5F));
}

}  // namespace
}  // namespace polystate
