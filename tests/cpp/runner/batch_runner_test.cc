#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
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
  config_of(sampled).do_sample = true;
  config_of(sampled).seed = 5;
  GenerationOptions three = sampled;
  config_of(three).num_return_sequences = 3;
  GenerationOptions beams = options_with_beams(4);
  config_of(beams).num_return_sequences = 2;
  GenerationOptions sampled_beams = options_with_beams(3);
  config_of(sampled_beams).do_sample = true;
  config_of(sampled_beams).seed = 6;
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
  const auto inputs = random_inputs(60, 9);
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

TEST(BatchRunner, RunsItsSessionsToTheEndAlsoWhereAnotherCallerTakesTheThreads) {
  const auto fake = three_threads(48);
  const auto runner = open_fake(fake);
  for (unsigned seed = 0; seed < 6; ++seed) {
    const auto inputs = random_inputs(48, seed);
    GenerationOptions options = options_with_beams(1);
    const Sequences expected = generate(*runner, inputs, options);
    // The sessions go on side by side until that of this thread has nothing left to run.
    options.on_token = [&fake](std::size_t, TokenId) { return fake->is_serial = true; };
    EXPECT_TRUE(generate(*runner, inputs, options) == expected);
    fake->is_serial = false;
  }
  EXPECT_EQ(fake->single_threaded_sessions, 3);
}

TEST(BatchRunner, RunsOneStepOfSessionsSideBySide) {
  const auto fake = three_threads(48);
  const auto runner = open_fake(fake);
  const auto inputs = random_inputs(48, 9);
  const GenerationOptions plain = options_with_beams(1);
  const Sequences expected = generate(*runner, inputs, plain);
  std::vector<std::vector<TokenId>> heard(inputs.size(), {0});
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    RequestOptions options{.config = plain.config};
    options.on_token = [&heard, i](TokenId token) {
      heard[i].push_back(token);
      return true;
    };
    ASSERT_TRUE(runner->submit(inputs[i], std::move(options)));
  }
  bool is_left = true;
  for (std::size_t steps = 1; is_left; ++steps) {
    is_left = runner->step().value();
    for (const auto& tokens : heard) ASSERT_LE(tokens.size(), steps + 1);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(heard[i], expected[i][0].ids);
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
      config_of(options).max_length = 42;
      Sequences generated = generate(*open_fake(fake), inputs, options);
      EXPECT_LE(fake->most_tokens, static_cast<std::size_t>(step_tokens));
      EXPECT_GE(fake->tokens, 480);  // of 12 prompts
      // Of two steps for each sentence beside its prompt, four sentences are together.
      EXPECT_LE(fake->steps, 24 + 480 / (step_tokens - 7));
      if (longest_source > 0) all.push_back(std::move(generated));
    }
  }
  for (const Sequences& each : all) EXPECT_TRUE(each == all.front());
}

TEST(BatchRunner, ReadsAPromptInFewSteps) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->max_length = 128;
  auto inputs = random_inputs(1, 15);
  inputs.front().prompt.assign(100, 5);
  GenerationOptions options = options_with_beams(1);
  config_of(options).max_length = 104;
  config_of(options).eos_token_id = {};
  EXPECT_EQ(generate(*open_fake(fake), inputs, options)[0][0].ids.size(), 104U);
  EXPECT_EQ(fake->tokens, 100 + 3);
  EXPECT_EQ(fake->steps, 2 + 3);  // 64 tokens, the other 36, and those that were generated
}

TEST(BatchRunner, CountsMaxNewTokensFromEachPrompt) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  auto inputs = random_inputs(2, 5);
  inputs[1].prompt = {0, 7, 8, 9};
  GenerationOptions options = options_with_beams(1);
  config_of(options).eos_token_id = {};
  config_of(options).max_length = 5;
  EXPECT_EQ(generate(*runner, inputs, options)[1][0].ids.size(), 5U);
  config_of(options).max_new_tokens = 6;
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

TEST(BatchRunner, SamplesSequencesThatDiffer) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  GenerationOptions options = options_with_beams(1);
  config_of(options).do_sample = true;
  config_of(options).num_return_sequences = 4;
  config_of(options).seed = 1;
  const auto inputs = random_inputs(5, 9);
  const Sequences first = generate(*runner, inputs, options);
  for (const auto& sequences : first) {
    ASSERT_EQ(sequences.size(), 4U);
    EXPECT_FALSE(sequences[0] == sequences[1]);
  }
  EXPECT_TRUE(generate(*runner, inputs, options) == first);
  config_of(options).seed = 2;
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
    config_of(options).num_return_sequences = beams > 1 ? 2 : 1;
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
  config_of(sampled).do_sample = true;
  config_of(sampled).seed = 3;
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
  config_of(options).max_length = 2;
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
  config_of(options).max_length = 12;
  EXPECT_TRUE(generate(*open_fake(few), inputs, options) ==
              generate(*open_fake(plenty), inputs, options));
  EXPECT_EQ(few->most_rows, 4U);
}

TEST(BatchRunner, GeneratesNothingFromNoInputs) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  EXPECT_TRUE(generate(*runner, {}, options_with_beams(2)).empty());
}

// The reading of all threads' inputs, and what it is alone.
TEST(BatchRunner, RunsCallsOfManyThreadsSideBySide) {
  for (const auto& fake : {std::make_shared<FakeTokenModel>(), three_threads(96)}) {
    const auto runner = open_fake(fake);
    const auto kinds = kinds_of_options();
    std::vector<std::vector<GenerationInput>> inputs;
    std::vector<Sequences> expected;
    for (unsigned i = 0; i < 8; ++i) {
      inputs.push_back(random_inputs(10 + i, 20 + i));
      expected.push_back(generate(*runner, inputs[i], kinds[i % kinds.size()]));
    }
    fake->most_rows = 0;
    std::vector<Sequences> found(inputs.size());
    std::vector<std::thread> threads;
    threads.reserve(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      threads.emplace_back(
          [&, i] { found[i] = generate(*runner, inputs[i], kinds[i % kinds.size()]); });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_TRUE(found[i] == expected[i]) << i;
    EXPECT_GT(fake->most_rows, 3U);
  }
}

TEST(BatchRunner, CallsTheFunctionsOfEachCallerOnItsOwnThread) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(10, 6);
  const auto run = [&] {
    GenerationOptions options = options_with_beams(1);
    const auto caller = std::this_thread::get_id();
    std::size_t done = 0;
    options.on_token = [caller](std::size_t, TokenId) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      return true;
    };
    options.on_done = [&](std::size_t, const GenerationUsage&) {
      EXPECT_EQ(std::this_thread::get_id(), caller);
      ++done;
    };
    generate(*runner, inputs, options);
    EXPECT_EQ(done, inputs.size());
  };
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) threads.emplace_back(run);
  for (std::thread& thread : threads) thread.join();
}

TEST(BatchRunner, ACancelledCallLeavesThoseOfOtherThreadsAlone) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(30, 6);
  const GenerationOptions options = options_with_beams(2);
  const Sequences expected = generate(*runner, inputs, options);
  std::thread other([&] {
    for (int i = 0; i < 5; ++i) {
      GenerationOptions cancelled = options;
      cancelled.is_cancelled = [asked = 0]() mutable { return ++asked > 3; };
      EXPECT_FALSE(runner->generate(inputs, cancelled));
    }
  });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(generate(*runner, inputs, options) == expected);
  other.join();
}

TEST(BatchRunner, RunsWhatIsSubmittedStepByStep) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(3, 6);
  const GenerationOptions plain = options_with_beams(1);
  const Sequences expected = generate(*runner, inputs, plain);
  EXPECT_FALSE(runner->step().value());

  std::vector<std::vector<TokenId>> heard(inputs.size());
  std::map<std::size_t, Result<GenerationResult>> results;
  const auto submit = [&](std::size_t i) {
    RequestOptions options{.config = plain.config};
    options.on_token = [&heard, i](TokenId token) {
      heard[i].push_back(token);
      return i != 1 || heard[i].size() < 2;
    };
    options.on_done = [&results, i](Result<GenerationResult> result) {
      results.emplace(i, std::move(result));
    };
    return runner->submit(inputs[i], std::move(options)).value();
  };
  const RequestId first = submit(0);
  EXPECT_TRUE(runner->step().value());
  submit(1);
  submit(2);
  EXPECT_EQ(heard[0].size(), 1U);
  EXPECT_TRUE(runner->step().value());
  EXPECT_TRUE(runner->step().value());
  EXPECT_EQ(heard[0].size(), 3U);
  runner->cancel(first);
  while (runner->step().value()) {
  }
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results.at(0).error().message, "the generation was cancelled");
  EXPECT_EQ(heard[0].size(), 3U);
  EXPECT_EQ(results.at(1)->sequences[0].ids.size(), 3U);
  EXPECT_TRUE(results.at(2)->sequences == expected[2]);
  runner->cancel(first);
  EXPECT_FALSE(runner->step().value());
}

TEST(BatchRunner, TellsOfEachRequestInOrderHoweverManyThreadsRunSteps) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(20, 6);
  const GenerationOptions plain = options_with_beams(1);
  const Sequences expected = generate(*runner, inputs, plain);
  std::vector<std::vector<TokenId>> heard(inputs.size(), {0});
  std::atomic<int> calling = 0;
  std::size_t done = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    RequestOptions options{.config = plain.config};
    options.on_token = [&, i](TokenId token) {
      EXPECT_EQ(++calling, 1);
      heard[i].push_back(token);
      std::this_thread::yield();
      --calling;
      return true;
    };
    options.on_done = [&, i](const Result<GenerationResult>& result) {
      EXPECT_EQ(++calling, 1);
      EXPECT_EQ(heard[i], result->sequences.front().ids);
      ++done;
      --calling;
    };
    ASSERT_TRUE(runner->submit(inputs[i], std::move(options)));
  }
  const auto run = [&] {
    while (runner->step().value()) {
    }
    EXPECT_EQ(done, inputs.size()) << "nothing is left for whoever is told so";
  };
  std::thread other(run);
  run();
  other.join();
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_EQ(heard[i], expected[i][0].ids);
}

TEST(BatchRunner, FailsAStepWhoseFunctionsRunOutOfMemory) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(1, 6);
  const GenerationOptions plain = options_with_beams(1);
  const Sequences expected = generate(*runner, inputs, plain);
  bool has_thrown = false;
  std::optional<Result<GenerationResult>> found;
  RequestOptions options{.config = plain.config};
  options.on_token = [&](TokenId) {
    if (!std::exchange(has_thrown, true)) throw std::bad_alloc();
    return true;
  };
  options.on_done = [&](Result<GenerationResult> result) { found = std::move(result); };
  ASSERT_TRUE(runner->submit(inputs[0], std::move(options)));
  const Result<bool> failed = runner->step();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kEngine);
  while (runner->step().value()) {
  }
  ASSERT_TRUE(found && *found);
  EXPECT_TRUE((*found)->sequences == expected[0]);
}

TEST(BatchRunner, SubmitsFromAFunctionThatItCalls) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(5, 6);
  const GenerationConfig config = config_with_beams(1);
  std::size_t done = 0;
  std::function<void()> submit_next = [&] {
    RequestOptions options{.config = config};
    options.on_done = [&](const Result<GenerationResult>& result) {
      EXPECT_TRUE(result);
      if (++done < inputs.size()) submit_next();
    };
    EXPECT_TRUE(runner->submit(inputs[done], options));
  };
  submit_next();
  while (runner->step().value()) {
  }
  EXPECT_EQ(done, inputs.size());
}

TEST(BatchRunner, EndsEverySearchWhenItsTimeIsOver) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(20, 6);
  for (GenerationOptions options : kinds_of_options()) {
    config_of(options).eos_token_id = {};
    config_of(options).max_time = 0.0;
    for (const auto& sequences : generate(*runner, inputs, options)) {
      for (const GeneratedSequence& sequence : sequences) EXPECT_EQ(sequence.ids.size(), 2U);
    }
    config_of(options).max_time = 1e6;
    const Sequences whole = generate(*runner, inputs, options);
    EXPECT_EQ(whole.front().front().ids.size(), 50U);
  }
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

TEST(BatchRunner, SaysWhatAnInputCost) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  auto inputs = random_inputs(2, 6);
  inputs.push_back(inputs.front());
  inputs[1].prompt = {0, 5, 6, 7, 8, 9};
  GenerationOptions options = options_with_beams(3);
  config_of(options).eos_token_id = {};
  config_of(options).max_length = 11;
  const auto results = runner->generate(inputs, options).value();
  const auto source = [&](std::size_t i) { return std::ssize(inputs[i].source); };
  EXPECT_EQ(results[0].usage.prompt_tokens, source(0) + 1);
  EXPECT_EQ(results[0].usage.generated_tokens, 10);
  EXPECT_EQ(results[0].usage.pages, 3 * 3);
  EXPECT_EQ(results[0].usage.cached_tokens, 0);
  EXPECT_EQ(results[1].usage.prompt_tokens, source(1) + 6);
  EXPECT_EQ(results[1].usage.generated_tokens, 5);
  EXPECT_EQ(results[1].usage.pages, 1 + 3 * 2) << "a full page of the prompt is shared";
  EXPECT_EQ(results[2].usage.cached_tokens, source(0) + 1) << "it is like the first one";
}

}  // namespace
}  // namespace polystate
