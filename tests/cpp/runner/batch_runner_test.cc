#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "polystate/runner/runner.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"
#include "support/sampling.h"

namespace polystate {
namespace {

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

TEST(BatchRunner, GivesTheSameSequencesHoweverManyRowsThereAre) {
  const auto inputs = random_inputs(50 / one_of(2), 2);
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

TEST(BatchRunner, GeneratesNothingFromNoInputs) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  EXPECT_TRUE(generate(*runner, {}, options_with_beams(2)).empty());
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
