#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <thread>
#include <utility>
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

// The most probable token at each step, without a runner.
std::vector<TokenId> greedy(const FakeTokenModel& fake, const GenerationInput& input,
                            std::int64_t max_length) {
  const std::vector<std::int64_t> source(input.source.begin(), input.source.end());
  std::vector<std::int64_t> tokens = {0};
  while (static_cast<std::int64_t>(tokens.size()) < max_length && tokens.back() != 1) {
    const auto logits = fake_logits(fake, source, tokens);
    tokens.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  return {tokens.begin(), tokens.end()};
}

TEST(BatchRunner, GeneratesTheMostProbableTokens) {
  const auto fake = std::make_shared<FakeTokenModel>();
  const auto runner = open_fake(fake);
  const auto inputs = random_inputs(40, 1);
  const Sequences generated = generate(*runner, inputs, options_with_beams(1));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(generated[i].size(), 1U);
    EXPECT_EQ(generated[i][0].ids, greedy(*fake, inputs[i], fake->max_length));
    EXPECT_FALSE(generated[i][0].score);
  }
}

// All options that a sentence's result may depend on, but not on its neighbours.
std::vector<GenerationOptions> kinds_of_options() {
  GenerationOptions sampled = options_with_beams(1);
  sampled.config.do_sample = true;
  sampled.config.seed = 5;
  GenerationOptions three = sampled;
  three.config.num_return_sequences = 3;
  GenerationOptions beams = options_with_beams(4);
  beams.config.num_return_sequences = 2;
  GenerationOptions sampled_beams = options_with_beams(3);
  sampled_beams.config.do_sample = true;
  sampled_beams.config.seed = 6;
  return {options_with_beams(1), sampled, three, beams, sampled_beams};
}

TEST(BatchRunner, GivesTheSameSequencesHoweverManyRowsThereAre) {
  const auto inputs = random_inputs(50, 2);
  for (const GenerationOptions& options : kinds_of_options()) {
    std::vector<Sequences> all;
    for (const std::int64_t rows : {4, 5, 8, 32, 256}) {
      const auto fake = std::make_shared<FakeTokenModel>();
      fake->max_sequences = rows;
      all.push_back(generate(*open_fake(fake), inputs, options));
      EXPECT_LE(fake->most_rows, static_cast<std::size_t>(rows));
    }
    for (const Sequences& each : all) EXPECT_TRUE(each == all.front());
  }
}

// A model whose sessions may run on three threads.
std::shared_ptr<FakeTokenModel> three_threads(std::int64_t rows) {
  auto fake = std::make_shared<FakeTokenModel>();
  fake->threads = 3;
  fake->max_sequences = rows;
  return fake;
}

TEST(BatchRunner, GivesTheSameSequencesFromSessionsSideBySide) {
  const auto inputs = random_inputs(200, 9);
  for (const GenerationOptions& options : kinds_of_options()) {
    const Sequences expected =
        generate(*open_fake(std::make_shared<FakeTokenModel>()), inputs, options);
    const auto fake = three_threads(48);
    const auto runner = open_fake(fake);
    for (int times = 0; times < 2; ++times)
      EXPECT_TRUE(generate(*runner, inputs, options) == expected);
    EXPECT_EQ(fake->single_threaded_sessions, 3);
    EXPECT_LE(fake->most_rows, 18U);  // of 3 sessions; inputs have 1, 3 or 4
  }
}

TEST(BatchRunner, SharesOutAsManyRowsAsAreWorthAThread) {
  const auto fake = three_threads(256);
  const auto runner = open_fake(fake);
  EXPECT_EQ(generate(*runner, random_inputs(31, 9), options_with_beams(1)).size(), 31U);
  EXPECT_EQ(fake->single_threaded_sessions, 0);
  EXPECT_EQ(generate(*runner, random_inputs(32, 9), options_with_beams(1)).size(), 32U);
  EXPECT_EQ(fake->single_threaded_sessions, 2);
  EXPECT_EQ(generate(*runner, random_inputs(9, 9), options_with_beams(6)).size(), 9U);
  EXPECT_EQ(fake->single_threaded_sessions, 3);
}

TEST(BatchRunner, TellsOfProgressFromOneThreadAtATime) {
  const auto runner = open_fake(three_threads(96));
  GenerationOptions options = options_with_beams(1);
  std::vector<std::size_t> told;
  options.on_progress = [&told](std::size_t done) { told.push_back(done); };
  EXPECT_EQ(generate(*runner, random_inputs(300, 9), options).size(), 300U);
  std::vector<std::size_t> expected(300);
  std::iota(expected.begin(), expected.end(), std::size_t{1});
  EXPECT_EQ(told, expected);
}

TEST(BatchRunner, CallsTheCallersFunctionsOnItsOwnThreadWhileSessionsRunSideBySide) {
  const auto inputs = random_inputs(100, 9);
  const auto fake = three_threads(96);
  const auto runner = open_fake(fake);
  GenerationOptions options = options_with_beams(1);
  const Sequences expected = generate(*runner, inputs, options);
  const auto caller = std::this_thread::get_id();
  Sequences heard(inputs.size(), {{{0}, std::nullopt}});
  options.on_token = [&](std::size_t input, TokenId token) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    heard[input].front().ids.push_back(token);
    return true;
  };
  EXPECT_TRUE(generate(*runner, inputs, options) == expected);
  EXPECT_TRUE(heard == expected);
  EXPECT_EQ(fake->single_threaded_sessions, 3);
}

TEST(BatchRunner, IsWholeAgainAfterOneOfItsSessionsFailed) {
  const auto inputs = random_inputs(200, 9);
  const auto fake = three_threads(96);
  const auto runner = open_fake(fake);
  const Sequences expected = generate(*runner, inputs, options_with_beams(2));
  fake->fails_at = fake->calls + 20;
  const auto failed = runner->generate(inputs, options_with_beams(2));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kEngine);
  EXPECT_TRUE(generate(*runner, inputs, options_with_beams(2)) == expected);
}

TEST(BatchRunner, GivesASentenceTheSequencesThatItHasAlone) {
  const auto inputs = random_inputs(30, 3);
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const GenerationOptions options = options_with_beams(3);
  const Sequences together = generate(*runner, inputs, options);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_TRUE(generate(*runner, {&inputs[i], 1}, options).front() == together[i]);
  }
  const std::vector<GenerationInput> reversed(inputs.rbegin(), inputs.rend());
  Sequences others = generate(*runner, reversed, options);
  std::reverse(others.begin(), others.end());
  EXPECT_TRUE(others == together);
}

TEST(BatchRunner, GoesOnFromPromptsOfDifferentLengths) {
  const auto fake = std::make_shared<FakeTokenModel>();
  const auto runner = open_fake(fake);
  for (const std::int64_t beams : {1, 3}) {
    const GenerationOptions options = options_with_beams(beams);
    const auto alone = random_inputs(1, 4);
    const auto ids = generate(*runner, alone, options)[0][0].ids;
    ASSERT_GT(ids.size(), 4U);
    std::vector<GenerationInput> inputs(4, alone[0]);
    for (std::size_t i = 1; i < inputs.size(); ++i) {
      inputs[i].prompt.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const Sequences generated = generate(*runner, inputs, options);
    EXPECT_EQ(generated[1][0].ids, ids);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto& found = generated[i][0].ids;
      EXPECT_TRUE(std::equal(inputs[i].prompt.begin(), inputs[i].prompt.end(), found.begin()));
      if (beams == 1) {
        EXPECT_EQ(found, ids);
      }
    }
  }
}

TEST(BatchRunner, ReadsPromptsInChunksOfWhatAStepHasLeft) {
  std::vector<Sequences> all;
  for (const std::int64_t step_tokens : {8, 11, 64}) {
    for (const std::int64_t longest_source : {0, 30}) {
      const auto fake = std::make_shared<FakeTokenModel>();
      fake->max_step_tokens = step_tokens;
      fake->max_source_length = longest_source;
      auto inputs = random_inputs(12, 15);
      for (GenerationInput& input : inputs) {
        input.prompt.assign(input.source.begin(), input.source.end());
        input.prompt.resize(40, 5);
        if (longest_source == 0) input.source.clear();
      }
      GenerationOptions options = options_with_beams(2);
      options.config.max_length = 42;
      Sequences generated = generate(*open_fake(fake), inputs, options);
      EXPECT_LE(fake->most_tokens, static_cast<std::size_t>(step_tokens));
      EXPECT_GE(fake->tokens, 12 * 40);
      // Of two steps for each sentence beside its prompt, four sentences are together.
      EXPECT_LE(fake->steps, 2 * 12 + (12 * 40) / (step_tokens - 7));
      if (longest_source > 0) all.push_back(std::move(generated));
    }
  }
  for (const Sequences& each : all) EXPECT_TRUE(each == all.front());
}

TEST(BatchRunner, CountsMaxNewTokensFromEachPrompt) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  auto inputs = random_inputs(2, 5);
  inputs[1].prompt = {0, 7, 8, 9};
  GenerationOptions options = options_with_beams(1);
  options.config.eos_token_id = {};
  options.config.max_length = 5;
  EXPECT_EQ(generate(*runner, inputs, options)[1][0].ids.size(), 5U);
  options.config.max_new_tokens = 6;
  const Sequences generated = generate(*runner, inputs, options);
  EXPECT_EQ(generated[0][0].ids.size(), 7U);
  EXPECT_EQ(generated[1][0].ids.size(), 10U);
}

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
  std::map<std::size_t, std::size_t> heard;
  std::size_t done = 0;
  options.on_token = [&](std::size_t input, TokenId) { return ++heard[input] > 0; };
  options.on_done = [&](std::size_t input, const GenerationUsage&) {
    heard[input] += 100;  // no token comes after it
    ++done;
  };
  const Sequences generated = generate(*runner, inputs, options);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(heard[i], 100 + generated[i][0].ids.size() - 1);
  EXPECT_EQ(done, inputs.size());
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
    options.config.max_length = 4;
    options.processors = {std::make_shared<Only>(9)};
    EXPECT_EQ(generate(*runner, inputs, options)[2][0].ids, (std::vector<TokenId>{0, 9, 9, 9}));
  }
  GenerationOptions options = options_with_beams(1);
  options.config.max_length = 4;
  options.sampler = std::make_shared<Counting>();
  EXPECT_EQ(generate(*runner, inputs, options)[1][0].ids, (std::vector<TokenId>{0, 10, 11, 12}));
}

TEST(BatchRunner, SamplesSequencesThatDiffer) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  GenerationOptions options = options_with_beams(1);
  options.config.do_sample = true;
  options.config.num_return_sequences = 4;
  options.config.seed = 1;
  const auto inputs = random_inputs(5, 9);
  const Sequences first = generate(*runner, inputs, options);
  for (const auto& sequences : first) {
    ASSERT_EQ(sequences.size(), 4U);
    EXPECT_FALSE(sequences[0] == sequences[1]);
  }
  EXPECT_TRUE(generate(*runner, inputs, options) == first);
  options.config.seed = 2;
  EXPECT_FALSE(generate(*runner, inputs, options) == first);
}

// Twenty inputs and one that differs from the first of them in its prompt alone, all of them so
// many times.
std::vector<GenerationInput> repeated_inputs(int times) {
  std::vector<GenerationInput> inputs;
  for (int i = 0; i < times; ++i) {
    for (GenerationInput& input : random_inputs(20, 14)) inputs.push_back(std::move(input));
    inputs.push_back({.source = inputs.front().source, .prompt = {0, 2}});
  }
  return inputs;
}

TEST(BatchRunner, GeneratesOnceForInputsThatAreAlike) {
  for (const std::int64_t beams : {1, 4}) {
    const auto fake = std::make_shared<FakeTokenModel>();
    GenerationOptions options = options_with_beams(beams);
    options.config.num_return_sequences = beams > 1 ? 2 : 1;
    const Sequences once = generate(*open_fake(fake), repeated_inputs(1), options);
    EXPECT_FALSE(once.front() == once.back());
    const std::int64_t rows = std::exchange(fake->tokens, 0);
    std::vector<std::size_t> told;
    options.on_progress = [&told](std::size_t done) { told.push_back(done); };
    const Sequences thrice = generate(*open_fake(fake), repeated_inputs(3), options);
    EXPECT_EQ(fake->tokens, rows);
    ASSERT_EQ(thrice.size(), 3 * once.size());
    for (std::size_t i = 0; i < thrice.size(); ++i)
      EXPECT_TRUE(thrice[i] == once[i % once.size()]) << i;
    std::vector<std::size_t> every(thrice.size());
    std::iota(every.begin(), every.end(), std::size_t{1});
    EXPECT_EQ(told, every);
  }
}

TEST(BatchRunner, GeneratesForEachInputWhatMayDiffer) {
  const auto inputs = repeated_inputs(2);
  const std::size_t half = inputs.size() / 2;
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  GenerationOptions sampled = options_with_beams(1);
  sampled.config.do_sample = true;
  sampled.config.seed = 3;
  const Sequences drawn = generate(*runner, inputs, sampled);
  EXPECT_FALSE(std::equal(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(half),
                          drawn.begin() + static_cast<std::ptrdiff_t>(half)));

  GenerationOptions streamed = options_with_beams(1);
  std::set<std::size_t> heard;
  streamed.on_token = [&heard](std::size_t input, TokenId) { return heard.insert(input).second; };
  generate(*runner, inputs, streamed);
  EXPECT_EQ(heard.size(), inputs.size());
}

TEST(BatchRunner, SharesPromptsRowsOfTheFirstStep) {
  const auto fake = std::make_shared<FakeTokenModel>();
  const auto runner = open_fake(fake);
  GenerationOptions options = options_with_beams(4);
  options.config.max_length = 2;
  generate(*runner, random_inputs(1, 10), options);
  EXPECT_EQ(fake->tokens, 1);
}

TEST(BatchRunner, KeepsRowsBusyOverTenThousandInputsWithFewPages) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->max_sequences = 16;
  fake->max_length = 12;
  fake->cross_pages = 24;  // fewer than 16 sources may need
  const auto runner = open_fake(fake);
  const auto inputs = random_inputs(10000, 11);
  const Sequences generated = generate(*runner, inputs, options_with_beams(1));
  std::int64_t tokens = 0;
  std::int64_t source_tokens = 0;
  std::set<std::vector<TokenId>> seen;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(generated[i].size(), 1U);
    ASSERT_EQ(generated[i][0].ids, greedy(*fake, inputs[i], fake->max_length));
    if (!seen.insert(inputs[i].source).second) continue;
    tokens += static_cast<std::int64_t>(generated[i][0].ids.size()) - 1;
    source_tokens += static_cast<std::int64_t>(inputs[i].source.size());
  }
  EXPECT_EQ(fake->tokens, tokens);
  EXPECT_LT(fake->encoded_tokens, source_tokens * 101 / 100);  // hardly any padding
}

TEST(BatchRunner, EncodesManySourcesInCallsOfBoundedMemory) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->max_sequences = 64;
  fake->max_source_length = 400;
  fake->max_length = 5;
  const auto runner = open_fake(fake);
  auto inputs = random_inputs(64, 13);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].source.resize(20, 3);
    inputs[i].source.back() = static_cast<TokenId>(i % 40);  // no two are alike
    inputs[i].source.front() = static_cast<TokenId>(i / 40);
  }
  inputs[40].source.resize(400, 3);  // more than the bound, and so alone
  const Sequences generated = generate(*runner, inputs, options_with_beams(1));
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(generated[i][0].ids, greedy(*fake, inputs[i], fake->max_length));
  EXPECT_EQ(fake->most_encoded, 400);
  EXPECT_EQ(fake->encoded_tokens, 63 * 20 + 400);
  EXPECT_LE(fake->encodes, 1 + 4);
  EXPECT_EQ(fake->most_rows, 64U);  // all run together nevertheless
}

TEST(BatchRunner, RunsFewerRowsWhereThereAreFewPages) {
  const auto inputs = random_inputs(30, 12);
  const auto plenty = std::make_shared<FakeTokenModel>();
  const auto few = std::make_shared<FakeTokenModel>();
  few->pages = 13;  // one sequence of max_length
  GenerationOptions options = options_with_beams(4);
  options.config.max_length = 12;
  EXPECT_TRUE(generate(*open_fake(few), inputs, options) ==
              generate(*open_fake(plenty), inputs, options));
  EXPECT_EQ(few->most_rows, 4U);
}

TEST(BatchRunner, GeneratesNothingFromNoInputs) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  EXPECT_TRUE(generate(*runner, {}, options_with_beams(2)).empty());
}

}  // namespace
}  // namespace polystate
