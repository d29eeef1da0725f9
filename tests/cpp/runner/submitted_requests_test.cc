#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"

namespace polystate {
namespace {

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

}  // namespace
}  // namespace polystate
