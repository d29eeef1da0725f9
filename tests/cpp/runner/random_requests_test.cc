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
#include "runner/loop_over_fake.h"
#include "runner/model/source_encoder.h"
#include "runner/request.h"
#include "support/sampling.h"

namespace polystate {
namespace {

// A request that was submitted, and how it is to come out.
struct Expected {
  std::shared_ptr<Request> request = nullptr;
  GenerationInput input = {};
  GenerationConfig config = {};
  bool may_be_cancelled = false;
  std::optional<std::size_t> heard_enough = std::nullopt;  // after so many tokens
};

GenerationConfig random_config(std::mt19937& random, bool has_source, std::size_t prompt_length) {
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
  if (!has_source && random() % 16 == 0) {
    config.context = ContextPolicy::kSlide;
    config.keep_tokens = static_cast<std::int64_t>(random() % 20);
    config.max_length = static_cast<std::int64_t>(prompt_length + 30 + random() % 60);
    // There are pages for two sequences that are full.
    config.num_beams = std::min<std::int64_t>(config.num_beams, 2);
    config.num_return_sequences = std::min<std::int64_t>(config.num_return_sequences, 2);
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

// What is drawn requests for: see FakeTokenModel.
struct Drawn {
  bool has_source;
  std::int64_t window;
  bool sees_all;
  unsigned seed;
};

std::shared_ptr<FakeTokenModel> small_model(const Drawn& drawn) {
  auto fake = std::make_shared<FakeTokenModel>();
  fake->max_source_length = drawn.has_source ? 30 : 0;
  fake->max_step_tokens = 12;
  fake->pages = 30;  // far fewer than eight sequences of fifty positions may need
  fake->window = drawn.window;
  fake->sees_all = drawn.sees_all;
  fake->window_pages = 24;  // four sequences, and no more
  if (drawn.has_source) fake->cross_pages = 20;
  return fake;
}

// Submits requests at random, each of its own configuration, cancels some, and compares what comes
// of each with what it gives alone.
class RandomRequests {
 public:
  explicit RandomRequests(const Drawn& drawn)
      : has_source_(drawn.has_source),
        random_(drawn.seed),
        fake_(small_model(drawn)),
        loop_(fake_),
        alone_(small_model(drawn)) {}

  void submit() {
    if (open_.size() == 12 || random_() % 2 == 0) return;
    Expected next;
    next.input = random_input(random_, has_source_);
    if (!kept_.empty() && random_() % 3 == 0) go_on_from_kept(next.input);
    next.config =
        random_config(random_, has_source_, std::max<std::size_t>(next.input.prompt.size(), 1));
    std::function<bool(TokenId)> on_token;
    if (next.config.num_beams == 1 && next.config.num_return_sequences == 1) {
      const std::size_t enough = 1 + random_() % 8;
      next.heard_enough = enough;
      on_token = [left = enough](TokenId) mutable { return --left > 0; };
    }
    const bool keeps = on_token != nullptr && random_() % 2 == 0;
    next.request = loop_.submit(next.input, next.config, std::move(on_token), keeps);
    open_.push_back(std::move(next));
  }

  // Goes back to some place of a sequence that was kept, and on from there.
  void go_on_from_kept(GenerationInput& input) {
    const KeptSequence& kept = kept_[random_() % kept_.size()];
    const std::size_t most = std::min<std::size_t>(kept->tokens.size(), 24);
    input.kept = kept;
    input.source = kept->source;
    input.prompt.assign(kept->tokens.begin(),
                        kept->tokens.begin() + static_cast<std::ptrdiff_t>(random_() % (most + 1)));
    input.prompt.push_back(static_cast<TokenId>(random_() % 40));
  }

  void cancel() {
    if (open_.empty() || random_() % 40 != 0) return;
    Expected& victim = open_[random_() % open_.size()];
    victim.may_be_cancelled = true;
    loop_.cancel(*victim.request);
  }

  void step() {
    loop_.step();
    for (auto& [request, result] : loop_.take_told()) {
      const auto expected = std::ranges::find(
          open_, request, [](const Expected& each) { return each.request.get(); });
      ASSERT_NE(expected, open_.end());
      if (!result && result.error().message.ends_with("drop some of them")) {
        kept_.clear();
        ++refused_;
      } else {
        ASSERT_NO_FATAL_FAILURE(check(*expected, result, alone_));
        (result ? done_ : cancelled_) += 1;
      }
      if (result && result->sequences.front().kept != nullptr) keep(*result);
      open_.erase(expected);
    }
  }

  // Takes the place of the one that was kept first, where there are three.
  void keep(const GenerationResult& result) {
    const GeneratedSequence& sequence = result.sequences.front();
    if (sequence.kept->tokens.size() < sequence.ids.size()) {
      ASSERT_TRUE(std::equal(sequence.kept->tokens.begin(), sequence.kept->tokens.end(),
                             sequence.ids.begin()) ||
                  sequence.ids.size() > 50);  // of which the model saw a part
    }
    kept_.push_back(sequence.kept);
    if (kept_.size() > 3) kept_.erase(kept_.begin());
    ++kept_in_all_;
  }

  // Nothing waits for ever, and no page is lost. Prompts stay in the index, until a failure.
  void expect_nothing_left() {
    kept_.clear();
    loop_.step();
    EXPECT_TRUE(open_.empty());
    fake_->fails_at = fake_->calls;
    GenerationConfig config = config_with_beams(1);
    config.max_new_tokens = 3;
    loop_.submit(random_input(random_, has_source_), config);
    loop_.step();
    EXPECT_FALSE(loop_.take_told().front().second);
    for (std::size_t kind = 0; kind < loop_.model().limits().kinds.size(); ++kind) {
      EXPECT_EQ(loop_.model().pool(kind).free_pages(), loop_.model().pool(kind).size());
    }
    if (!has_source_) return;
    EXPECT_EQ(loop_.model().encoder()->pool().free_pages(), 20);
  }

  void expect_much_was_tried(std::size_t steps) const {
    EXPECT_GT(done_, steps * 9 / 50);
    EXPECT_GT(cancelled_, steps / 250);
    EXPECT_GT(kept_in_all_, steps / 50);
    EXPECT_LT(refused_, done_ / 10);
    EXPECT_LE(fake_->most_tokens, 12U);
  }

 private:
  bool has_source_;
  std::mt19937 random_;
  std::shared_ptr<FakeTokenModel> fake_;
  Loop loop_;
  Loop alone_;
  std::vector<Expected> open_;
  std::size_t done_ = 0;
  std::size_t cancelled_ = 0;
  std::size_t refused_ = 0;  // for pages that are kept
  std::vector<KeptSequence> kept_;
  std::size_t kept_in_all_ = 0;
};

TEST(GenerationLoop, GivesEveryRequestWhatItGivesAlone) {
  const std::size_t steps = 6'000 / one_of(3);
  for (const Drawn& drawn : {Drawn{true, 0, true, 11}, Drawn{false, 0, true, 12},
                             Drawn{false, 6, true, 13}, Drawn{false, 6, false, 14}}) {
    RandomRequests requests(drawn);
    for (std::size_t step = 0; step < steps; ++step) {
      if (step % 1000 < 700) requests.submit();
      requests.cancel();
      ASSERT_NO_FATAL_FAILURE(requests.step());
      if (step % 1000 == 999) requests.expect_nothing_left();
    }
    requests.expect_much_was_tried(steps);
  }
}

}  // namespace
}  // namespace polystate
