#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"

namespace polystate {
namespace {

TEST(BatchRunner, StreamsTheTokensOfEachInputInOrder) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(20, 6);
  std::map<std::size_t, std::vector<TokenId>> streamed;
  std::vector<std::size_t> done;
  GenerationOptions options = options_with_beams(1);
  options.on_token = [&](std::size_t input, TokenId token) {
    streamed[input].push_back(token);
    return true;
  };
  options.on_progress = [&](std::size_t count) { done.push_back(count); };
  const Sequences generated = generate(*runner, inputs, options);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    streamed[i].insert(streamed[i].begin(), 0);
    EXPECT_EQ(streamed[i], generated[i][0].ids);
  }
  ASSERT_EQ(done.size(), inputs.size());
  for (std::size_t i = 0; i < done.size(); ++i) EXPECT_EQ(done[i], i + 1);
}

TEST(BatchRunner, TellsOfEachInputThatIsFinishedAtOnce) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(20, 6);
  GenerationOptions options = options_with_beams(1);
  std::map<std::size_t, std::size_t> heard, heard_when_first_done;
  std::size_t done = 0;
  options.on_token = [&](std::size_t input, TokenId) { return ++heard[input] > 0; };
  options.on_done = [&](std::size_t input, const GenerationUsage&) {
    if (done == 0) heard_when_first_done = heard;
    heard[input] += 100;  // no token comes after it
    ++done;
  };
  const Sequences generated = generate(*runner, inputs, options);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(heard[i], 100 + generated[i][0].ids.size() - 1);
  EXPECT_EQ(done, inputs.size());
  const bool some_went_on = std::ranges::any_of(heard_when_first_done, [&](const auto& then) {
    return heard[then.first] > 100 + then.second;
  });
  EXPECT_TRUE(some_went_on);
}

TEST(BatchRunner, EndsAnInputWhoseListenerHasEnough) {
  const auto fake = std::make_shared<FakeTokenModel>();
  const auto runner = open_fake(fake);
  const auto inputs = random_inputs(10, 7);
  GenerationOptions options = options_with_beams(1);
  const Sequences whole = generate(*runner, inputs, options);
  std::size_t heard = 0;
  options.on_token = [&](std::size_t input, TokenId) { return input != 4 || ++heard < 3; };
  const Sequences generated = generate(*runner, inputs, options);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    auto expected = whole[i][0].ids;
    if (i == 4) expected.resize(std::min<std::size_t>(expected.size(), 4));
    EXPECT_EQ(generated[i][0].ids, expected);
  }
}

TEST(BatchRunner, EndsWhereItIsCancelledAndRunsAgain) {
  const auto inputs = random_inputs(100, 9);
  for (const auto& fake : {std::make_shared<FakeTokenModel>(), three_threads(96)}) {
    const auto runner = open_fake(fake);
    GenerationOptions options = options_with_beams(2);
    const Sequences expected = generate(*runner, inputs, options);
    std::atomic<int> asked = 0;
    options.is_cancelled = [&asked] { return ++asked > 5; };
    const auto cancelled = runner->generate(inputs, options);
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::kContract);
    EXPECT_EQ(cancelled.error().message, "the generation was cancelled");
    EXPECT_LT(asked, 20);
    options.is_cancelled = [] { return false; };
    EXPECT_TRUE(generate(*runner, inputs, options) == expected);
  }
}

// Allows one token only.
class Only final : public LogitsProcessor {
 public:
  explicit Only(TokenId token) : token_(token) {}
  Status process(const TokenContext& context, std::span<float> scores) const override {
    EXPECT_EQ(context.prompt_length, 1U);
    EXPECT_FALSE(context.source.empty());
    const float kept = scores[token_];
    std::fill(scores.begin(), scores.end(), -std::numeric_limits<float>::infinity());
    scores[token_] = kept;
    return {};
  }

 private:
  TokenId token_;
};

// Chooses by the length of the sequence.
class Counting final : public Sampler {
 public:
  Result<TokenId> sample(std::span<float>, const SamplePlace& place) const override {
    return static_cast<TokenId>(10 + place.step);
  }
};

TEST(BatchRunner, HonoursTheCallersProcessorsAndSampler) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(3, 8);
  for (const std::int64_t beams : {1, 2}) {
    GenerationOptions options = options_with_beams(beams);
    config_of(options).max_length = 4;
    options.processors = {std::make_shared<Only>(9)};
    EXPECT_EQ(generate(*runner, inputs, options)[2][0].ids, (std::vector<TokenId>{0, 9, 9, 9}));
  }
  GenerationOptions options = options_with_beams(1);
  config_of(options).max_length = 4;
  options.sampler = std::make_shared<Counting>();
  EXPECT_EQ(generate(*runner, inputs, options)[1][0].ids, (std::vector<TokenId>{0, 10, 11, 12}));
}

// Chooses a token that the vocabulary lacks.
class Astray final : public Sampler {
 public:
  Result<TokenId> sample(std::span<float> scores, const SamplePlace&) const override {
    return static_cast<TokenId>(scores.size());
  }
};

TEST(BatchRunner, RefusesATokenThatTheVocabularyLacks) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(3, 8);
  GenerationOptions options = options_with_beams(1);
  config_of(options).logprobs = 1;
  options.sampler = std::make_shared<Astray>();
  const auto refused = runner->generate(inputs, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kContract);
  EXPECT_EQ(refused.error().message,
            "the sampler chose token 40, which is past the vocabulary's 40 tokens");
  EXPECT_TRUE(runner->generate(inputs, options_with_beams(1)));
}

// Forbids a token that the row has had, which it counts in a state.
class EachTokenOnce final : public LogitsProcessor {
 public:
  class Row final : public RowState {
   public:
    explicit Row(std::span<const TokenId> tokens) : tokens_(tokens.begin(), tokens.end()) {}
    Status advance(TokenId token) override {
      tokens_.push_back(token);
      return {};
    }
    [[nodiscard]] Result<std::unique_ptr<RowState>> fork() const override {
      return std::unique_ptr<RowState>(std::make_unique<Row>(tokens_));
    }
    Status rewind(std::size_t count) override {
      tokens_.resize(tokens_.size() - count);
      return {};
    }
    [[nodiscard]] const std::vector<TokenId>& tokens() const { return tokens_; }

   private:
    std::vector<TokenId> tokens_;
  };

  Result<std::unique_ptr<RowState>> start(const TokenContext& context) const override {
    return std::unique_ptr<RowState>(std::make_unique<Row>(context.tokens));
  }
  Status process(const TokenContext& context, std::span<float> scores) const override {
    const auto& row = static_cast<const Row&>(*context.state);
    EXPECT_TRUE(std::ranges::equal(row.tokens(), context.tokens));
    for (const TokenId token : row.tokens()) {
      scores[token] = -std::numeric_limits<float>::infinity();
    }
    return {};
  }
};

TEST(BatchRunner, KeepsTheStateOfAProcessorForEachRow) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(10, 6);
  for (GenerationOptions options : kinds_of_options()) {
    config_of(options).eos_token_id = {};
    config_of(options).max_length = 30;
    options.processors = {std::make_shared<EachTokenOnce>()};
    for (const auto& sequences : generate(*runner, inputs, options)) {
      for (const GeneratedSequence& sequence : sequences) {
        const std::set<TokenId> different(sequence.ids.begin(), sequence.ids.end());
        EXPECT_EQ(different.size(), sequence.ids.size());
        EXPECT_EQ(sequence.ids.size(), 30U);
      }
    }
  }
}

}  // namespace
}  // namespace polystate
