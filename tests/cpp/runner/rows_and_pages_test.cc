#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"

namespace polystate {
namespace {

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

}  // namespace
}  // namespace polystate
