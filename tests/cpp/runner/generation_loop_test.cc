#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"
#include "runner/loop_over_fake.h"

namespace polystate {
namespace {

TEST(GenerationLoop, ReadsACommonPrefixOnce) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->max_source_length = 0;
  Loop loop(fake);
  GenerationConfig config = config_with_beams(1);
  config.max_new_tokens = 4;
  config.eos_token_id = {};
  GenerationInput input;
  input.prompt.assign(30, 7);
  const GenerationResult first = loop.run_alone(input, config);
  EXPECT_EQ(first.usage.prompt_tokens, 30);
  EXPECT_EQ(first.usage.cached_tokens, 0);
  EXPECT_EQ(first.usage.generated_tokens, 4);
  const std::int64_t read = std::exchange(fake->tokens, 0);
  EXPECT_EQ(read, 30 + 3);
  const GenerationResult again = loop.run_alone(input, config);
  EXPECT_TRUE(again.sequences == first.sequences);
  EXPECT_EQ(again.usage.cached_tokens, 28);  // seven pages of four
  EXPECT_EQ(fake->tokens, 2 + 3);
}

// What a greedy search gives where the model sees the first 3 tokens and the last ones that fill
// half of its other positions, each time that they are full.
std::vector<TokenId> slid_greedily(const FakeTokenModel& fake, std::vector<TokenId> tokens,
                                   std::size_t max_length) {
  const auto positions = static_cast<std::size_t>(fake.max_length);
  const auto seen_of = [&] {
    std::vector<std::int64_t> seen(tokens.begin(), tokens.begin() + 3);
    seen.insert(seen.end(), tokens.end() - static_cast<std::ptrdiff_t>((positions - 3) / 2),
                tokens.end());
    return seen;
  };
  std::vector<std::int64_t> seen(tokens.begin(), tokens.end());
  if (seen.size() > positions) seen = seen_of();
  while (tokens.size() < max_length) {
    const auto logits = fake_logits(fake, {}, seen);
    tokens.push_back(static_cast<TokenId>(std::ranges::max_element(logits) - logits.begin()));
    if (seen.size() == positions) {
      seen = seen_of();
    } else {
      seen.push_back(tokens.back());
    }
  }
  return tokens;
}

TEST(GenerationLoop, ReadsACommonPrefixOnceAlsoOfRequestsThatComeTogether) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->max_source_length = 0;
  for (const std::int64_t step_tokens : {12, 64}) {
    fake->max_step_tokens = step_tokens;
    Loop loop(fake);
    GenerationConfig config = config_with_beams(1);
    config.max_new_tokens = 4;
    config.eos_token_id = {};
    std::vector<GenerationInput> inputs(5);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].prompt.assign(30, static_cast<TokenId>(step_tokens % 40));
      inputs[i].prompt[i < 4 ? 29 : 9] = static_cast<TokenId>(i);
    }
    fake->tokens = 0;
    for (const GenerationInput& input : inputs) loop.submit(input, config);
    while (loop.step()) {
    }
    // Seven pages of four are alike of the first four, two of the last.
    EXPECT_EQ(fake->tokens, 30 + 3 * 2 + 22 + 5 * 3);
    for (const auto& [request, result] : loop.take_told()) ASSERT_TRUE(result);
  }
}

TEST(GenerationLoop, ReadsAPromptOnceForAnyNumberOfSequencesAndBeams) {
  for (const bool beams : {false, true}) {
    for (const auto& fake : {decoder_alone(), windowed_decoder(7), windowed_decoder(7, false)}) {
      Loop loop(fake);
      GenerationConfig config = config_with_beams(beams ? 4 : 1);
      config.num_return_sequences = 4;
      config.do_sample = !beams;
      config.max_new_tokens = 6;
      config.eos_token_id = {};
      loop.run_alone({.source = {}, .prompt = std::vector<TokenId>(30, 7)}, config);
      EXPECT_EQ(fake->tokens, 30 + 4 * 5);
    }
  }
}

TEST(GenerationLoop, SlidesOverATextThatIsLongerThanItsPositions) {
  for (const std::int64_t step_tokens : {8, 64}) {
    for (const auto& fake : {decoder_alone(), windowed_decoder(7), windowed_decoder(7, false)}) {
      fake->max_step_tokens = step_tokens;
      Loop loop(fake);
      for (const std::size_t prompt : {1U, 3U, 30U, 49U, 50U, 51U, 120U}) {
        GenerationInput input;
        for (std::size_t i = 0; i < prompt; ++i) {
          input.prompt.push_back(static_cast<TokenId>((7 * i + prompt) % 40));
        }
        GenerationConfig config = config_with_beams(1);
        config.eos_token_id = {};
        config.context = ContextPolicy::kSlide;
        config.keep_tokens = 3;
        config.max_new_tokens = 150;
        const GenerationResult found = loop.run_alone(input, config);
        EXPECT_EQ(found.sequences.front().ids, slid_greedily(*fake, input.prompt, prompt + 150));
        EXPECT_EQ(found.sequences.front().finish_reason, FinishReason::kLength);
        EXPECT_EQ(found.usage.generated_tokens, 150);
      }
    }
  }
}

TEST(GenerationLoop, ReadsNothingOfWhatAFailureTookAway) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->max_source_length = 0;
  Loop loop(fake);
  const GenerationConfig config = config_with_beams(1);
  const GenerationInput input = {.source = {}, .prompt = std::vector<TokenId>(30, 7)};
  const GenerationResult first = loop.run_alone(input, config);
  fake->fails_at = fake->calls + 1;
  loop.submit(input, config);
  while (loop.step()) {
  }
  EXPECT_FALSE(loop.take_told().front().second);
  const GenerationResult again = loop.run_alone(input, config);
  EXPECT_EQ(again.usage.cached_tokens, 0);
  EXPECT_TRUE(again.sequences == first.sequences);
}

TEST(GenerationLoop, EndsThoseAloneForWhoseNewsThereIsNotEnoughMemory) {
  const auto fake = decoder_alone();
  Loop loop(fake);
  GenerationConfig config = config_with_beams(1);
  config.max_new_tokens = 4;
  config.eos_token_id = {};
  const auto input = [](TokenId token) { return GenerationInput{.source = {}, .prompt = {token}}; };
  loop.submit(input(3), config, [](TokenId) -> bool { throw std::bad_alloc(); });
  const auto of_result = loop.submit(input(4), config);
  of_result->on_done = [told = of_result->on_done,
                        has_thrown = false](Result<GenerationResult> result) mutable {
    if (!std::exchange(has_thrown, true)) throw std::bad_alloc();
    told(std::move(result));
  };
  const auto other = loop.submit(input(5), config);
  while (loop.step()) {
  }
  const auto told = loop.take_told();
  ASSERT_EQ(told.size(), 3U);
  for (const auto& [request, result] : told) {
    ASSERT_EQ(result.has_value(), request == other.get());
    if (result) {
      EXPECT_EQ(result->usage.generated_tokens, 4);
    } else {
      EXPECT_EQ(result.error().code, ErrorCode::kEngine);
    }
  }
  EXPECT_EQ(loop.run_alone(input(3), config).sequences.front().ids.size(), 5U);
}

TEST(GenerationLoop, LetsARequestWaitForPagesOfAWindow) {
  for (const bool sees_all : {true, false}) {
    const auto fake = windowed_decoder(7, sees_all);
    fake->max_step_tokens = 8;
    fake->window_pages = 11;  // two sequences of five pages
    Loop loop(fake);
    GenerationConfig config = config_with_beams(1);
    config.eos_token_id = {};
    config.max_length = 50;
    for (int i = 0; i < 5; ++i) loop.submit({.source = {}, .prompt = {0}}, config);
    while (loop.step()) {
    }
    const auto told = loop.take_told();
    ASSERT_EQ(told.size(), 5U);
    for (const auto& [request, result] : told) ASSERT_TRUE(result);
    EXPECT_EQ(fake->most_rows, 2U);
  }
}

TEST(GenerationLoop, ReadsACommonPrefixOnceWhereLayersHaveAWindow) {
  for (const bool sees_all : {true, false}) {
    const auto fake = windowed_decoder(7, sees_all);
    fake->max_step_tokens = 12;
    Loop loop(fake);
    GenerationConfig config = config_with_beams(1);
    config.max_new_tokens = 10;
    config.eos_token_id = {};
    GenerationInput input;
    input.prompt.assign(30, 7);
    const GenerationResult first = loop.run_alone(input, config);
    EXPECT_EQ(first.usage.cached_tokens, 0);
    EXPECT_EQ(std::exchange(fake->tokens, 0), 30 + 9);
    const GenerationResult again = loop.run_alone(input, config);
    EXPECT_TRUE(again.sequences == first.sequences);
    EXPECT_EQ(again.usage.cached_tokens, 28);  // seven pages of four
    EXPECT_EQ(fake->tokens, 2 + 9);
    input.prompt.resize(15);
    EXPECT_EQ(loop.run_alone(input, config).usage.cached_tokens, 12);
  }
}

TEST(GenerationLoop, LetsARequestWaitForPagesThatItMayNeed) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->max_source_length = 0;
  fake->pages = 26;  // two sequences of fifty positions
  Loop loop(fake);
  GenerationConfig config = config_with_beams(1);
  config.eos_token_id = {};
  for (int i = 0; i < 5; ++i) loop.submit({.source = {}, .prompt = {0}}, config);
  config.max_length = 5;
  loop.submit({.source = {}, .prompt = {0}}, config);
  while (loop.step()) {
  }
  const auto told = loop.take_told();
  ASSERT_EQ(told.size(), 6U);
  for (const auto& [request, result] : told) ASSERT_TRUE(result);
  EXPECT_EQ(fake->most_rows, 2U);
}

}  // namespace
}  // namespace polystate
