#include "pipeline/token_scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/pipeline/text_score.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"

namespace polystate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kRoom = 10;
constexpr TokenId kRefused = 0;

// The log-probability of a token with so many tokens before it.
double logprob(TokenId token, std::size_t before) {
  return -static_cast<double>(token) / static_cast<double>(before);
}

// Finds a token less probable the fewer tokens come before it.
class Scoring final : public Runner {
 public:
  Result<std::vector<GenerationResult>> generate(std::span<const GenerationInput> inputs,
                                                 const GenerationOptions& options) override {
    EXPECT_EQ(options.config.value_or(GenerationConfig()).max_new_tokens, 0);
    if (options.is_cancelled && options.is_cancelled())
      return Error{ErrorCode::kContract, "cancelled"};
    most_inputs = std::max(most_inputs, inputs.size());
    std::vector<GenerationResult> results(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::vector<TokenId>& prompt = inputs[i].prompt;
      EXPECT_LE(prompt.size(), kRoom);
      if (std::ranges::find(prompt, kRefused) != prompt.end())
        return Error{ErrorCode::kContract, options.name_of(i) + " is refused"};
      for (std::size_t at = 1; at < prompt.size(); ++at)
        results[i].prompt_logprobs.push_back({{prompt[at], logprob(prompt[at], at)}, {}});
    }
    return results;
  }
  Result<RequestId> submit(GenerationInput, RequestOptions) override { return RequestId{0}; }
  void cancel(RequestId) override {}
  Result<bool> step() override { return false; }

  [[nodiscard]] const GenerationConfig& default_config() const override { return config_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const override { return warnings_; }
  [[nodiscard]] std::int64_t max_source_length() const override { return 0; }
  [[nodiscard]] std::int64_t max_length() const override { return kRoom; }

  std::size_t most_inputs = 0;

 private:
  GenerationConfig config_;
  std::vector<std::string> warnings_;
};

std::vector<TokenId> counted_tokens(std::size_t size) {
  std::vector<TokenId> tokens(size);
  for (std::size_t i = 0; i < size; ++i) tokens[i] = static_cast<TokenId>(i + 1);
  return tokens;
}

// As Hugging Face's guide to perplexity goes on: windows of the model's length, `stride` apart, of
// which the tokens that were in none before are counted.
TextScore expected(std::span<const TokenId> tokens, std::size_t stride) {
  TextScore score;
  std::size_t previous_end = 1;
  for (std::size_t begin = 0; begin < tokens.size(); begin += stride) {
    const std::size_t end = std::min(begin + kRoom, tokens.size());
    for (std::size_t at = previous_end; at < end; ++at, ++score.tokens)
      score.logprob += logprob(tokens[at], at - begin);
    previous_end = end;
    if (end == tokens.size()) break;
  }
  return score;
}

TEST(TokenScores, AreThoseOfOverlappingWindows) {
  Scoring runner;
  for (const std::size_t stride : {1U, 3U, 5U, 9U}) {
    std::vector<std::vector<TokenId>> sequences;
    sequences.reserve(40);
    for (std::size_t size = 0; size < 40; ++size) sequences.push_back(counted_tokens(size));
    ScoreOptions options;
    options.stride = static_cast<std::int64_t>(stride);
    const std::vector<TextScore> scores = score_tokens(runner, sequences, options).value();
    ASSERT_EQ(scores.size(), sequences.size());
    for (std::size_t size = 0; size < 40; ++size) {
      const TextScore score = expected(sequences[size], stride);
      EXPECT_NEAR(scores[size].logprob, score.logprob, 1e-9) << size << ", " << stride;
      EXPECT_EQ(scores[size].tokens, score.tokens);
      EXPECT_EQ(scores[size].tokens,
                std::max<std::int64_t>(static_cast<std::int64_t>(size) - 1, 0));
    }
  }
  EXPECT_LE(runner.most_inputs, 64U);
}

TEST(TokenScores, StrideHalfOfTheRoomUnlessToldOtherwise) {
  Scoring runner;
  const std::vector<std::vector<TokenId>> sequences = {counted_tokens(33)};
  const auto scores = score_tokens(runner, sequences, {}).value();
  EXPECT_NEAR(scores[0].logprob, expected(sequences[0], kRoom / 2).logprob, 1e-9);
}

TEST(TokenScores, RefuseAStrideThatLeavesTokensWithoutContext) {
  Scoring runner;
  const std::vector<std::vector<TokenId>> sequences = {counted_tokens(33)};
  for (const std::int64_t stride : {-1, 0, 10, 11}) {
    ScoreOptions options;
    options.stride = stride;
    const auto refused = score_tokens(runner, sequences, options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kContract);
    EXPECT_THAT(refused.error().message,
                HasSubstr("stride is " + std::to_string(stride) + "; it may be 1 to 9"));
  }
}

TEST(TokenScores, TellProgressAndEndWhereTheyAreCancelled) {
  Scoring runner;
  const std::vector<std::vector<TokenId>> sequences(150, counted_tokens(3));
  ScoreOptions options;
  std::vector<std::size_t> heard;
  options.on_progress = [&](std::size_t done) { heard.push_back(done); };
  ASSERT_TRUE(score_tokens(runner, sequences, options));
  EXPECT_THAT(heard, ElementsAre(64U, 128U, 150U));
  options.is_cancelled = [] { return true; };
  EXPECT_EQ(score_tokens(runner, sequences, options).error().code, ErrorCode::kContract);
}

TEST(TokenScores, AreRefusedByTheNameOfTheTextAndTheWindowsPlaceInIt) {
  Scoring runner;
  std::vector<std::vector<TokenId>> sequences(3, counted_tokens(33));
  sequences[1][30] = kRefused;
  EXPECT_EQ(score_tokens(runner, sequences, {}).error().message,
            "input 1 from token 25 on is refused");
  sequences[1][2] = kRefused;
  EXPECT_EQ(score_tokens(runner, sequences, {}).error().message, "input 1 is refused");
}

TEST(TextScores, OfSeveralTextsAreSums) {
  const std::vector<TextScore> scores = {{.logprob = -6, .tokens = 2},
                                         {.logprob = -3, .tokens = 1}};
  EXPECT_EQ(total(scores).tokens, 3);
  EXPECT_DOUBLE_EQ(total(scores).mean_nll(), 3);
  EXPECT_DOUBLE_EQ(total(scores).perplexity(), std::exp(3.0));
  EXPECT_TRUE(std::isnan(TextScore().perplexity()));
}

}  // namespace
}  // namespace polystate
