// What a runner keeps of a sequence, as bytes with which another one goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"

namespace polystate {
namespace {

using testing::HasSubstr;

GenerationOptions keeping(std::int64_t new_tokens) {
  GenerationOptions options = options_for(new_tokens);
  options.keep = true;
  return options;
}

// Generates from a prompt of so many tokens.
GeneratedSequence generate_from(Runner& runner, std::size_t prompt, TokenId first = 3) {
  std::vector<GenerationInput> inputs(1);
  for (std::size_t i = 0; i < prompt; ++i) {
    inputs[0].prompt.push_back(static_cast<TokenId>((first + i * 7) % 40));
  }
  return generate(runner, inputs, keeping(5))[0][0];
}

// Models whose tokens see all, all and a window, a window.
std::vector<std::shared_ptr<FakeTokenModel>> models() {
  return {decoder_alone(), windowed_decoder(7), windowed_decoder(7, /*sees_all=*/false)};
}

TEST(SavedKeptSequence, IsGoneOnFromByAnotherRunnerAsByItsOwn) {
  for (const auto& fake : models()) {
    const auto runner = open_fake(fake);
    (void)generate_from(*runner, 30, 11);  // so that its pages are not the first ones
    const GeneratedSequence first = generate_from(*runner, 21);
    const auto bytes = runner->save_kept(first.kept);
    ASSERT_TRUE(bytes) << bytes.error().message;

    const auto other = open_fake(fake);
    const auto loaded = other->load_kept(*bytes, /*yields=*/false);
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_NE(*loaded, nullptr);
    EXPECT_EQ((*loaded)->tokens, first.kept->tokens);
    const auto go_on = [&](Runner& with, const KeptSequence& kept) {
      const std::vector<GenerationInput> inputs = {{{}, first.ids, kept}};
      auto results = with.generate(inputs, keeping(9));
      EXPECT_TRUE(results) << results.error().message;
      return std::move(results->front());
    };
    const GenerationResult here = go_on(*runner, first.kept);
    const GenerationResult there = go_on(*other, *loaded);
    EXPECT_EQ(there.usage.cached_tokens, std::ssize(first.ids) - 1);
    EXPECT_EQ(there.usage.cached_tokens, here.usage.cached_tokens);
    EXPECT_EQ(there.sequences[0].ids, here.sequences[0].ids);
    EXPECT_EQ(*other->save_kept(there.sequences[0].kept),
              *runner->save_kept(here.sequences[0].kept));
  }
}

TEST(SavedKeptSequence, IsNothingWhereNothingIsKept) {
  const auto runner = open_fake(decoder_alone());
  const GeneratedSequence of_another = generate_from(*open_fake(decoder_alone()), 9);
  for (const KeptSequence& kept : {KeptSequence(), of_another.kept}) {
    const auto bytes = runner->save_kept(kept);
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_TRUE(bytes->empty());
  }
}

TEST(SavedKeptSequence, TakesThePagesOfOthersThatYieldOrHasNoRoom) {
  const auto fake = decoder_alone();
  fake->pages = 14;  // fifty positions need 13
  const auto runner = open_fake(fake);
  const GeneratedSequence first = generate_from(*runner, 40);  // 11 pages
  const auto bytes = runner->save_kept(first.kept);
  ASSERT_TRUE(bytes);
  const auto full = runner->load_kept(*bytes, true);
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(*full, nullptr) << "the first one does not yield";

  const auto other = open_fake(fake);
  const auto loaded = other->load_kept(*bytes, true);
  ASSERT_TRUE(loaded && *loaded != nullptr);
  const auto again = other->load_kept(*bytes, false);
  ASSERT_TRUE(again && *again != nullptr);
  EXPECT_TRUE(other->save_kept(*loaded)->empty()) << "it gave up its pages";
  EXPECT_EQ(*other->save_kept(*again), *bytes);
}

TEST(SavedKeptSequence, ThatIsDamagedIsRefused) {
  for (const auto& fake : models()) {
    const auto runner = open_fake(fake);
    const GeneratedSequence first = generate_from(*runner, 21);
    const std::vector<std::byte> bytes = *runner->save_kept(first.kept);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto cut = std::span(bytes).first(size);
      const auto loaded = runner->load_kept(cut, false);
      ASSERT_FALSE(loaded) << size;
      EXPECT_EQ(loaded.error().code, ErrorCode::kArtifact);
      EXPECT_THAT(loaded.error().message, HasSubstr("a kept sequence "));
    }
    // Tokens and pages may be anything; what says how many there are may not.
    const auto other = open_fake(fake);
    std::mt19937 random(static_cast<std::mt19937::result_type>(fake->seed));
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::byte> changed = bytes;
      changed[random() % changed.size()] = static_cast<std::byte>(random());
      const auto loaded = other->load_kept(changed, false);
      if (!loaded) {
        EXPECT_EQ(loaded.error().code, ErrorCode::kArtifact);
        continue;
      }
      ASSERT_NE(*loaded, nullptr);
      EXPECT_EQ(*other->save_kept(*loaded), changed);
    }
  }
}

TEST(SavedKeptSequence, IsNotForACallbackOfItsRunner) {
  const auto runner = open_fake(decoder_alone());
  GenerationOptions options = keeping(2);
  Result<std::vector<std::byte>> saved = std::vector<std::byte>();
  options.on_token = [&](std::size_t, TokenId) {
    saved = runner->save_kept(nullptr);
    return true;
  };
  const std::vector<GenerationInput> inputs = {{{}, {4, 5}}};
  ASSERT_TRUE(runner->generate(inputs, options));
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, ErrorCode::kBusy);
}

}  // namespace
}  // namespace polystate
