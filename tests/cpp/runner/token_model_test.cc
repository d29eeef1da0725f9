#include "runner/model/token_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/core/token.h"
#include "polystate/runner/open_runner.h"
#include "runner/cache/cached_sequence.h"
#include "runner/cache/page_pool.h"
#include "runner/fake_token_model.h"
#include "runner/model/source_encoder.h"

namespace polystate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<TokenModel> open_model(const std::shared_ptr<FakeTokenModel>& fake) {
  auto model = TokenModel::open(make_model(fake));
  EXPECT_TRUE(model) << model.error().message;
  return std::move(model).value();
}

// Sequences of random tokens, each with a source of its own, that are read in chunks.
class Readings {
 public:
  Readings(std::shared_ptr<FakeTokenModel> fake, unsigned seed)
      : random_(seed), fake_(std::move(fake)), model_(open_model(fake_)) {
    for (int i = 0; i < 8; ++i) {
      readings_.push_back({draw(50), {}, std::nullopt, model_->new_sequence()});
      if (model_->encoder() == nullptr) continue;
      Reading& next = readings_.back();
      next.source = draw(30);
      const std::span<const TokenId> source = next.source;
      next.encoded = std::move(model_->encoder()->encode({&source, 1}, 0).value().front());
    }
  }

  [[nodiscard]] bool are_read() const {
    return std::ranges::all_of(readings_,
                               [](const Reading& each) { return each.unread().empty(); });
  }

  // Reads a chunk of some of them; what forward gives for some of these is what the fake gives.
  void step() {
    std::vector<StepRow> rows;
    std::vector<float> expected;
    for (Reading& reading : readings_) {
      if (reading.unread().empty() || random_() % 4 == 0) continue;
      rows.push_back(next_row(reading));
      append_logits(reading, rows.back(), expected);
    }
    if (rows.empty()) return;
    const Result<Tensor> logits = model_->forward(rows);
    ASSERT_TRUE(logits) << logits.error().message;
    for (std::size_t kind = 0; kind < model_->limits().kinds.size(); ++kind) {
      const PagePool& pool = model_->pool(kind);
      most_pages_[kind] = std::max(most_pages_[kind], pool.size() - pool.free_pages());
    }
    const auto found = logits->values<float>();
    ASSERT_EQ(std::vector<float>(found.begin(), found.end()), expected);
  }

  // The most pages of a kind of caches that were in use.
  [[nodiscard]] std::int64_t most_pages(std::size_t kind) const { return most_pages_[kind]; }
  void expect_all_pages_return() {
    readings_.clear();
    for (std::size_t kind = 0; kind < model_->limits().kinds.size(); ++kind) {
      EXPECT_EQ(model_->pool(kind).free_pages(), model_->pool(kind).size());
    }
  }

 private:
  struct Reading {
    std::vector<TokenId> tokens;
    std::vector<TokenId> source;
    std::optional<EncodedSource> encoded;
    CachedSequence sequence;

    [[nodiscard]] std::span<const TokenId> unread() const {
      return std::span(tokens).subspan(static_cast<std::size_t>(sequence.length()));
    }
  };

  std::vector<TokenId> draw(std::size_t longest) {
    std::vector<TokenId> tokens(1 + random_() % longest);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random_() % 40);
    return tokens;
  }

  StepRow next_row(Reading& reading) {
    const auto unread = reading.unread();
    const auto chunk = unread.first(1 + random_() % std::min(unread.size(), std::size_t{8}));
    return {.tokens = chunk,
            .sequence = &reading.sequence,
            .source = reading.encoded ? &*reading.encoded : nullptr,
            .prompt = {},
            .wanted = random_() % (chunk.size() + 1)};
  }

  // Those after the last tokens of a row.
  void append_logits(const Reading& reading, const StepRow& row, std::vector<float>& all) const {
    const std::vector<std::int64_t> source(reading.source.begin(), reading.source.end());
    for (std::size_t i = row.tokens.size() - row.wanted; i < row.tokens.size(); ++i) {
      const std::vector<std::int64_t> read(reading.tokens.data(), row.tokens.data() + i + 1);
      const auto logits = fake_logits(*fake_, source, read);
      all.insert(all.end(), logits.begin(), logits.end());
    }
  }

  std::mt19937 random_;
  std::shared_ptr<FakeTokenModel> fake_;
  std::unique_ptr<TokenModel> model_;
  std::vector<Reading> readings_;
  std::array<std::int64_t, 2> most_pages_{};
};

TEST(TokenModel, GivesTheLogitsOfWantedTokensHoweverSequencesAreCutIntoChunks) {
  for (const auto& fake : {std::make_shared<FakeTokenModel>(), decoder_alone(), windowed_decoder(2),
                           windowed_decoder(7), windowed_decoder(7, false), windowed_decoder(49)}) {
    fake->max_wanted = 64;
    Readings readings(fake, 1);
    while (!readings.are_read() && !HasFatalFailure()) readings.step();
    EXPECT_GT(fake->logits, 20);
    readings.expect_all_pages_return();
  }
}

TEST(TokenModel, HasNoMorePagesThanAWindowAndAChunkNeed) {
  const auto fake = windowed_decoder(7);
  fake->max_wanted = 64;
  Readings readings(fake, 1);
  while (!readings.are_read() && !HasFatalFailure()) readings.step();
  // Of eight sequences of up to fifty tokens. Fourteen positions are in five pages at most.
  EXPECT_GT(readings.most_pages(0), 8 * 4);
  EXPECT_LE(readings.most_pages(1), 8 * 5);
}

TEST(TokenModel, CountsTheTokensBeforeEachThatAModelCounts) {
  const auto fake = decoder_alone();
  fake->uncounted = 7;
  const auto model = open_model(fake);
  CachedSequence sequence = model->new_sequence();
  const std::vector<TokenId> tokens = {7, 3, 7, 7, 5, 7, 7, 4};
  const auto prompt = std::span(tokens).first(6);
  const auto read = [&](std::size_t first, std::size_t count) {
    const StepRow row = {.tokens = std::span(tokens).subspan(first, count),
                         .sequence = &sequence,
                         .source = nullptr,
                         .prompt = prompt,
                         .wanted = 0};
    EXPECT_TRUE(model->forward({&row, 1}));
  };
  read(0, 3);
  EXPECT_THAT(fake->counted, ElementsAre(0, 0, 1));
  read(3, 4);
  EXPECT_THAT(fake->counted, ElementsAre(1, 1, 2, 6));  // behind the prompt each is counted
  read(7, 1);
  EXPECT_THAT(fake->counted, ElementsAre(7));
}

TEST(TokenModel, IsAsAtFirstAfterAFailure) {
  const auto fake = decoder_alone();
  fake->fails_at = 1;
  const auto model = open_model(fake);
  const std::vector<TokenId> tokens = {3, 4};
  for (int call = 0; call < 3; ++call) {
    CachedSequence sequence = model->new_sequence();
    const StepRow row = {tokens, &sequence, nullptr, {}, 1};
    EXPECT_EQ(model->forward({&row, 1}).has_value(), call != 1);
  }
  EXPECT_EQ(fake->resets, 1);
}

// Expects that a model whose manifest has `value` at `path` is refused.
void expect_refused(const std::string& path, const std::string& value, const std::string& message) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->manifest_patch =
      R"([{"op": "replace", "path": ")" + path + R"(", "value": )" + value + "}]";
  const auto model = TokenModel::open(make_model(fake));
  ASSERT_FALSE(model) << message;
  EXPECT_EQ(model.error().code, ErrorCode::kArtifact);
  EXPECT_EQ(model.error().message, message);
}

TEST(TokenModel, RefusesConstantsWithTheirValuesAndLimits) {
  for (const std::string name :
       {"page_size", "max_length", "vocabulary_size", "pages", "max_sequences", "max_step_tokens",
        "max_wanted", "max_source_length", "cross_pages"}) {
    for (const std::string value : {"-1", "2147483648", "\"many\""}) {
      std::string message = "manifest.json: constants." + name;
      if (!value.starts_with('"')) message.append(" is ").append(value).append(", and");
      expect_refused("/constants/" + name, value,
                     message.append(" is not an integer from 1 to 2147483647"));
    }
  }
  expect_refused("/constants/pages", "12",
                 "manifest.json: constants.pages is 12: too small for one sequence of max_length, "
                 "50 positions, which need 13");
  expect_refused("/constants/cross_pages", "7",
                 "manifest.json: constants.cross_pages is 7: too small for one source of "
                 "max_source_length, 30 positions, which need 8");
}

TEST(TokenModel, RefusesConstantsThatAMethodDoesNotTake) {
  expect_refused("/constants/max_step_tokens", "65",
                 "manifest.json: constants.max_step_tokens needs a size of 65 in dimension 0 of "
                 "method 'forward', input 0 'input_ids', which takes 64");
  expect_refused("/constants/max_wanted", "9",
                 "manifest.json: constants.max_wanted needs a size of 9 in dimension 0 of method "
                 "'forward', input 2 'wanted', which takes 8");
  expect_refused("/constants/max_sequences", "9",
                 "manifest.json: constants.max_sequences needs a size of 9 in dimension 0 of "
                 "method 'forward', input 4 'page_table', which takes 8");
}

TEST(TokenModel, RefusesMethodsOfAnotherForm) {
  expect_refused("/methods/0/inputs/2/name", R"("chosen")",
                 "method 'forward', input 2 'chosen' is none that the runner 'token_model' gives");
  expect_refused("/methods/0/inputs/2/name", R"("counted")",
                 "method 'forward' has no input 'wanted', which the runner 'token_model' gives");
  expect_refused("/methods/0/inputs/1/shape", "[1, 1]",
                 "method 'forward', input 1 'rows' is int64 of 2 dimensions; the runner "
                 "'token_model' gives int64 of 1");
  expect_refused("/methods/0/outputs", "[]",
                 "method 'forward' has 0 outputs; the runner 'token_model' takes 1");
  expect_refused("/methods/2/name", R"("embed")",
                 "method 'forward', input 5 'cross_table' is none that the runner 'token_model' "
                 "gives where there is no method 'encode'");
  expect_refused("/methods/1/name", R"("copies")",
                 "there is no method 'copy_pages'; there are forward, copies, encode");
}

TEST(TokenModel, RefusesArtifactsOfTheOlderForm) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->manifest_patch =
      R"([{"op": "replace", "path": "/constants/runner", "value": "encoder_decoder"}])";
  const auto runner = open_runner(make_model(fake));
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(runner.error().message, HasSubstr("export the model again"));
}

}  // namespace
}  // namespace polystate
