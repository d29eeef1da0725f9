#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"

namespace polystate {
namespace {

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

}  // namespace
}  // namespace polystate
