#include "runner/model/token_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "polystate/core/token.h"
#include "polystate/runner/open_runner.h"
#include "runner/cache/page_table.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"
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

std::shared_ptr<FakeTokenModel> decoder_alone() {
  auto fake = std::make_shared<FakeTokenModel>();
  fake->max_source_length = 0;
  return fake;
}

std::vector<std::int64_t> as_numbers(std::span<const TokenId> tokens) {
  return {tokens.begin(), tokens.end()};
}

// A sequence of random tokens that is read in chunks.
struct Reading {
  std::vector<TokenId> tokens;
  std::vector<TokenId> source;
  std::optional<EncodedSource> encoded;
  PageTable table;
};

std::vector<Reading> random_readings(TokenModel& model, std::size_t count, std::mt19937& random) {
  std::vector<Reading> readings;
  const auto draw = [&random](std::size_t length) {
    std::vector<TokenId> tokens(length);
    for (TokenId& token : tokens) token = static_cast<TokenId>(random() % 40);
    return tokens;
  };
  for (std::size_t i = 0; i < count; ++i) {
    Reading& next = readings.emplace_back(
        Reading{draw(1 + random() % 50), {}, std::nullopt, model.new_sequence()});
    if (model.encoder() == nullptr) continue;
    next.source = draw(1 + random() % 30);
    const std::span<const TokenId> source = next.source;
    next.encoded = std::move(model.encoder()->encode({&source, 1}, 0).value().front());
  }
  return readings;
}

TEST(TokenModel, GivesTheLogitsOfWantedTokensHoweverSequencesAreCutIntoChunks) {
  std::mt19937 random(1);
  for (const auto& fake : {std::make_shared<FakeTokenModel>(), decoder_alone()}) {
    const auto model = open_model(fake);
    std::vector<Reading> readings = random_readings(*model, 8, random);
    std::size_t compared = 0;
    while (true) {
      std::vector<StepRow> rows;
      std::vector<float> expected;
      for (Reading& reading : readings) {
        const auto unread =
            std::span(reading.tokens).subspan(static_cast<std::size_t>(reading.table.length()));
        if (unread.empty() || random() % 4 == 0) continue;
        const auto chunk = unread.first(1 + random() % std::min(unread.size(), std::size_t{8}));
        const bool wants = random() % 2 == 0;
        rows.push_back({.tokens = chunk,
                        .sequence = &reading.table,
                        .source = reading.encoded ? &*reading.encoded : nullptr,
                        .prompt = {},
                        .wants_logits = wants});
        if (!wants) continue;
        const auto read =
            std::span<const TokenId>(reading.tokens.data(), chunk.data() + chunk.size());
        const auto logits = fake_logits(*fake, as_numbers(reading.source), as_numbers(read));
        expected.insert(expected.end(), logits.begin(), logits.end());
      }
      if (std::ranges::all_of(readings, [](const Reading& each) {
            return each.table.length() == std::ssize(each.tokens);
          }))
        break;
      if (rows.empty()) continue;
      const Result<Tensor> logits = model->forward(rows);
      ASSERT_TRUE(logits) << logits.error().message;
      const auto found = logits->values<float>();
      ASSERT_EQ(std::vector<float>(found.begin(), found.end()), expected);
      compared += expected.size();
    }
    EXPECT_GT(compared, 0U);
    readings.clear();
    EXPECT_EQ(model->pool().free_pages(), model->pool().size());
  }
}

TEST(TokenModel, CountsTheTokensBeforeEachThatAModelCounts) {
  const auto fake = decoder_alone();
  fake->uncounted = 7;
  const auto model = open_model(fake);
  PageTable table = model->new_sequence();
  const std::vector<TokenId> tokens = {7, 3, 7, 7, 5, 7, 7, 4};
  const auto prompt = std::span(tokens).first(6);
  const auto read = [&](std::size_t first, std::size_t count) {
    const StepRow row = {.tokens = std::span(tokens).subspan(first, count),
                         .sequence = &table,
                         .source = nullptr,
                         .prompt = prompt,
                         .wants_logits = false};
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
    PageTable table = model->new_sequence();
    const StepRow row = {tokens, &table, nullptr, {}, true};
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
    const std::string limits = " is not an integer from 1 to 2147483647";
    const std::string label = "manifest.json: constants." + name;
    expect_refused("/constants/" + name, "-1", label + " is -1, and" + limits);
    expect_refused("/constants/" + name, "2147483648", label + " is 2147483648, and" + limits);
    expect_refused("/constants/" + name, R"("many")", label + limits);
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
