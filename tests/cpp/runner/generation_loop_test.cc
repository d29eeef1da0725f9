#include "runner/generation_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"
#include "runner/model/source_encoder.h"
#include "runner/model/token_model.h"
#include "runner/request.h"
#include "runner/request_queue.h"

namespace polystate {
namespace {

// A loop over a fake model, and what it told of each request.
class Loop {
 public:
  explicit Loop(const std::shared_ptr<FakeTokenModel>& fake)
      : model_(TokenModel::open(make_model(fake)).value()), loop_(*model_, queue_) {}

  std::shared_ptr<Request> submit(const GenerationInput& input, const GenerationConfig& config,
                                  std::function<bool(TokenId)> on_token = nullptr) {
    auto maker =
        RequestMaker::create(config, {}, nullptr, on_token != nullptr, model_->limits()).value();
    const std::shared_ptr<Request> request = maker.make(input, 0, "the request").value();
    request->on_token = std::move(on_token);
    request->on_done = [this, key = request.get()](Result<GenerationResult> result) {
      told_.emplace_back(key, std::move(result));
    };
    queue_.push({request});
    return request;
  }

  bool step() { return loop_.step(true); }
  // Ends a request, also one that waits.
  void cancel(Request& request) {
    request.end(Request::End::kCancelled);
    for (const auto& ended : queue_.take_ended()) fail(*ended, cancelled());
  }
  using Told = std::vector<std::pair<const Request*, Result<GenerationResult>>>;
  [[nodiscard]] Told take_told() { return std::exchange(told_, {}); }
  GenerationResult run_alone(const GenerationInput& input, const GenerationConfig& config) {
    submit(input, config);
    while (told_.empty()) step();
    return std::move(take_told().front().second).value();
  }
  [[nodiscard]] TokenModel& model() { return *model_; }

 private:
  std::unique_ptr<TokenModel> model_;
  RequestQueue queue_;
  GenerationLoop loop_;
  Told told_;
};

// A request that was submitted, and how it is to come out.
struct Expected {
  std::shared_ptr<Request> request = nullptr;
  GenerationInput input = {};
  GenerationConfig config = {};
  bool may_be_cancelled = false;
  std::optional<std::size_t> heard_enough = std::nullopt;  // after so many tokens
};

GenerationConfig random_config(std::mt19937& random, std::size_t prompt_length) {
  GenerationConfig config = config_with_beams(1);
  config.max_length = static_cast<std::int64_t>(prompt_length + 1 + random() % 12);
  switch (random() % 4) {
    case 0:
      config.num_beams = static_cast<std::int64_t>(2 + random() % 3);
      config.num_return_sequences = static_cast<std::int64_t>(1 + random() % 2);
      break;
    case 1:
      config.do_sample = true;
      config.seed = random();
      config.num_return_sequences = static_cast<std::int64_t>(1 + random() % 4);
      break;
    case 2:
      config.no_repeat_ngram_size = 2;
      break;
    default:
      break;
  }
  return config;
}

// Prompts begin with one of a few starts, so that they share pages.
GenerationInput random_input(std::mt19937& random, bool has_source) {
  GenerationInput input;
  if (has_source) input.source = random_inputs(1, random()).front().source;
  if (!has_source || random() % 3 == 0) {
    input.prompt.assign(1 + random() % 20, static_cast<TokenId>(2 + random() % 2));
    input.prompt.back() = static_cast<TokenId>(random() % 40);
  }
  return input;
}

void check(const Expected& expected, const Result<GenerationResult>& found, Loop& alone) {
  if (!found) {
    ASSERT_TRUE(expected.may_be_cancelled) << found.error().message;
    ASSERT_EQ(found.error().message, "the generation was cancelled");
    return;
  }
  GenerationResult wanted = alone.run_alone(expected.input, expected.config);
  if (expected.heard_enough) {
    auto& ids = wanted.sequences.front().ids;
    const std::size_t length = expected.request->prompt().size() + *expected.heard_enough;
    ids.resize(std::min(ids.size(), length));
  }
  ASSERT_TRUE(found->sequences == wanted.sequences);
  ASSERT_EQ(found->usage.prompt_tokens, wanted.usage.prompt_tokens);
  ASSERT_EQ(found->usage.pages, wanted.usage.pages);
}

std::shared_ptr<FakeTokenModel> small_model(bool has_source) {
  auto fake = std::make_shared<FakeTokenModel>();
  fake->max_source_length = has_source ? 30 : 0;
  fake->max_step_tokens = 12;
  fake->pages = 30;  // far fewer than eight sequences of fifty positions may need
  if (has_source) fake->cross_pages = 20;
  return fake;
}

// Random submissions, each of its own configuration, cancellations and callers that have enough,
// over ten thousand steps: every request gives what it gives alone, and no page is lost.
TEST(GenerationLoop, GivesEveryRequestWhatItGivesAlone) {
  for (const bool has_source : {true, false}) {
    std::mt19937 random(has_source ? 11 : 12);
    const auto fake = small_model(has_source);
    Loop loop(fake);
    Loop alone(small_model(has_source));
    std::vector<Expected> open;
    std::size_t checked = 0;
    std::size_t cancelled = 0;
    for (int step = 0; step < 5'000; ++step) {
      if (step % 1000 < 900 && open.size() < 12 && random() % 2 == 0) {
        Expected next;
        next.input = random_input(random, has_source);
        next.config = random_config(random, std::max<std::size_t>(next.input.prompt.size(), 1));
        std::function<bool(TokenId)> on_token;
        if (next.config.num_beams == 1 && next.config.num_return_sequences == 1) {
          next.heard_enough = 1 + random() % 8;
          on_token = [left = *next.heard_enough](TokenId) mutable { return --left > 0; };
        }
        next.request = loop.submit(next.input, next.config, std::move(on_token));
        open.push_back(std::move(next));
      }
      if (!open.empty() && random() % 40 == 0) {
        Expected& victim = open[random() % open.size()];
        victim.may_be_cancelled = true;
        loop.cancel(*victim.request);
      }
      loop.step();
      for (auto& [request, result] : loop.take_told()) {
        const auto expected = std::ranges::find(
            open, request, [](const Expected& each) { return each.request.get(); });
        ASSERT_NE(expected, open.end());
        ASSERT_NO_FATAL_FAILURE(check(*expected, result, alone));
        cancelled += result ? 0 : 1;
        ++checked;
        open.erase(expected);
      }
      if (step % 1000 == 999) {
        ASSERT_TRUE(open.empty()) << "nothing waits for ever";
        if (has_source) {
          ASSERT_EQ(loop.model().pool().free_pages(), loop.model().pool().size());
          ASSERT_EQ(loop.model().encoder()->pool().free_pages(), 20);
        }
      }
    }
    EXPECT_GT(checked, 1000U);
    EXPECT_GT(cancelled, 20U);
    EXPECT_LE(fake->most_tokens, 12U);
  }
}

TEST(GenerationLoop, ReadsACommonPrefixOnce) {
  auto fake = std::make_shared<FakeTokenModel>();
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

TEST(GenerationLoop, ReadsNothingOfWhatAFailureTookAway) {
  auto fake = std::make_shared<FakeTokenModel>();
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

TEST(GenerationLoop, LetsARequestWaitForPagesThatItMayNeed) {
  auto fake = std::make_shared<FakeTokenModel>();
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
