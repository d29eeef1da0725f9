#include "polystate/runner/conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
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

using testing::HasSubstr;

// What a runner that has read nothing generates after these tokens.
std::vector<TokenId> alone(const std::vector<TokenId>& prompt, std::int64_t new_tokens,
                           const std::shared_ptr<FakeTokenModel>& fake = decoder_alone()) {
  const auto runner = open_fake(fake);
  const std::vector<GenerationInput> inputs = {{.source = {}, .prompt = prompt}};
  return generate(*runner, inputs, options_for(new_tokens)).front().front().ids;
}

std::vector<TokenId> joined(std::vector<TokenId> tokens, const std::vector<TokenId>& more) {
  tokens.insert(tokens.end(), more.begin(), more.end());
  return tokens;
}

std::vector<TokenId> tokens_of(const Conversation& conversation) {
  return {conversation.tokens().begin(), conversation.tokens().end()};
}

TEST(Conversation, ReadsEachTokenOnce) {
  const auto fake = decoder_alone();
  const auto runner = open_fake(fake);
  Conversation conversation(*runner);
  std::vector<TokenId> expected;
  std::int64_t read = 0;
  for (const std::vector<TokenId>& turn :
       std::vector<std::vector<TokenId>>{{3, 4, 5}, {6}, {7, 8, 9, 10, 11, 12}, {2, 2}}) {
    expected = joined(expected, turn);
    const auto result = conversation.generate(turn, options_for(5));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->usage.prompt_tokens, std::ssize(expected));
    EXPECT_EQ(result->usage.cached_tokens, read) << "all but the last token was read";
    expected = alone(expected, 5);
    EXPECT_EQ(tokens_of(conversation), expected);
    read = std::ssize(expected) - 1;
    EXPECT_EQ(fake->tokens, read);
  }
}

TEST(Conversation, GoesOnFromWhereItWasRewoundTo) {
  const auto fake = decoder_alone();
  const auto runner = open_fake(fake);
  Conversation conversation(*runner);
  ASSERT_TRUE(conversation.generate(std::vector<TokenId>{3, 4, 5, 6, 7}, options_for(10)));
  const std::vector<TokenId> whole = tokens_of(conversation);
  for (const std::size_t length : {13U, 9U, 8U, 2U, 0U}) {
    ASSERT_TRUE(conversation.rewind(length));
    const auto result = conversation.generate(std::vector<TokenId>{20, 21}, options_for(1));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->usage.cached_tokens, length);
    const std::vector<TokenId> start(whole.begin(),
                                     whole.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_EQ(tokens_of(conversation), alone(joined(start, {20, 21}), 1));
    ASSERT_TRUE(conversation.rewind(length));
  }
  const Status refused = conversation.rewind(1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the conversation has 0 tokens; it cannot go back to 1");
}

TEST(Conversation, OfAWindowReadsAgainWhatItNoLongerHolds) {
  for (const bool sees_all : {true, false}) {
    const auto runner = open_fake(windowed_decoder(7, sees_all));
    Conversation conversation(*runner);
    std::vector<TokenId> prompt(20);
    std::iota(prompt.begin(), prompt.end(), TokenId{2});
    ASSERT_TRUE(conversation.generate(prompt, options_for(10)));
    const std::vector<TokenId> whole = tokens_of(conversation);
    // Of 29 tokens it holds those from 20 on, in pages of four, which a token at position 26 sees.
    // Before that there are the pages of the prompt.
    for (const auto& [length, cached] :
         std::vector<std::pair<std::size_t, std::int64_t>>{{24, 20}, {27, 27}, {10, 8}, {0, 0}}) {
      Conversation fork = conversation.fork();
      ASSERT_TRUE(fork.rewind(length));
      const auto result = fork.generate(std::vector<TokenId>{30, 31}, options_for(1));
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result->usage.prompt_tokens, static_cast<std::int64_t>(length) + 2);
      EXPECT_EQ(result->usage.cached_tokens, cached) << length;
      const std::vector<TokenId> start(whole.begin(),
                                       whole.begin() + static_cast<std::ptrdiff_t>(length));
      EXPECT_EQ(tokens_of(fork), alone(joined(start, {30, 31}), 1, windowed_decoder(7, sees_all)));
    }
    const auto result = conversation.generate(std::vector<TokenId>{3}, options_for(9));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->usage.cached_tokens, 29);
    EXPECT_EQ(tokens_of(conversation), alone(joined(whole, {3}), 9, windowed_decoder(7, sees_all)));
  }
}

TEST(Conversation, ForksGoOnByThemselves) {
  const auto fake = decoder_alone();
  const auto runner = open_fake(fake);
  Conversation one(*runner);
  ASSERT_TRUE(one.generate(std::vector<TokenId>{3, 4, 5, 6, 7}, options_for(4)));
  const std::vector<TokenId> start = tokens_of(one);
  Conversation other = one.fork();
  const std::int64_t read = fake->tokens;
  ASSERT_TRUE(one.generate(std::vector<TokenId>{10}, options_for(6)));
  ASSERT_TRUE(other.generate(std::vector<TokenId>{11}, options_for(6)));
  EXPECT_EQ(tokens_of(one), alone(joined(start, {10}), 6));
  EXPECT_EQ(tokens_of(other), alone(joined(start, {11}), 6));
  EXPECT_EQ(fake->tokens, read + 14) << "each reads the last token and what is its own";
}

TEST(Conversation, IsAsItWasAfterAnErrorAndAFailure) {
  const auto fake = decoder_alone();
  const auto runner = open_fake(fake);
  Conversation conversation(*runner);
  ASSERT_TRUE(conversation.generate(std::vector<TokenId>{3, 4, 5}, options_for(4)));
  const std::vector<TokenId> before = tokens_of(conversation);
  const auto refused = conversation.generate(std::vector<TokenId>(50, 3), options_for(4));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("too many"));
  EXPECT_EQ(tokens_of(conversation), before);
  fake->fails_at = fake->calls + 1;
  EXPECT_FALSE(conversation.generate(std::vector<TokenId>{6}, options_for(4)));
  EXPECT_EQ(tokens_of(conversation), before);
  const auto again = conversation.generate(std::vector<TokenId>{6}, options_for(4));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->usage.cached_tokens, 0) << "the failure took away what was read";
  EXPECT_EQ(tokens_of(conversation), alone(joined(before, {6}), 4));
}

TEST(Conversation, HoldsItsPagesUntilItIsGone) {
  const auto fake = decoder_alone();
  fake->pages = 14;  // fifty positions need 13
  const auto runner = open_fake(fake);
  std::optional<Conversation> conversation(*runner);
  ASSERT_TRUE(conversation->generate(std::vector<TokenId>(20, 3), options_for(10)));
  const std::vector<GenerationInput> inputs = {{.source = {}, .prompt = {5}}};
  const auto refused = runner->generate(inputs, options_for(49));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kContract);
  EXPECT_EQ(refused.error().message,
            "the request needs 13 pages; sequences that are kept hold 8 of the model's 14: drop "
            "some of them");
  EXPECT_TRUE(runner->generate(inputs, options_for(20)));
  EXPECT_TRUE(conversation->generate(std::vector<TokenId>{4}, options_for(19)))
      << "it goes on in its own pages";
  conversation.reset();
  EXPECT_TRUE(runner->generate(inputs, options_for(49)));
}

TEST(Conversation, GoesOnInAModelThatHasPagesForOneSequence) {
  const auto fake = decoder_alone();
  fake->pages = 13;  // of one sequence of fifty positions
  const auto runner = open_fake(fake);
  Conversation conversation(*runner);
  ASSERT_TRUE(conversation.generate(std::vector<TokenId>(10, 3), options_for(4)));
  const std::vector<TokenId> start = tokens_of(conversation);
  {
    const Conversation fork = conversation.fork();
    const auto refused = conversation.generate(std::vector<TokenId>{5}, options_for(35));
    ASSERT_FALSE(refused) << "the fork has these pages too";
    EXPECT_THAT(refused.error().message,
                HasSubstr("sequences that are kept hold 4 of the model's 13"));
  }
  const auto result = conversation.generate(std::vector<TokenId>{5}, options_for(35));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->usage.cached_tokens, 12) << "of the full pages nothing is read again";
  EXPECT_EQ(tokens_of(conversation), alone(joined(start, {5}), 35));
}

TEST(KeptSequence, ThatYieldsGivesUpItsPagesTheFirstBeforeOthers) {
  const auto fake = decoder_alone();
  fake->pages = 14;  // fifty positions need 13
  const auto runner = open_fake(fake);
  GenerationOptions keeping = options_for(3);
  keeping.keep = keeping.yields = true;
  std::vector<GenerationInput> inputs(2);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i].prompt = std::vector<TokenId>(10, static_cast<TokenId>(3 + i));
    const Sequences first = generate(*runner, {&inputs[i], 1}, keeping);
    inputs[i].prompt = first[0][0].ids;
    inputs[i].kept = first[0][0].kept;
  }
  // Six of the pages are free or given up.
  const std::vector<GenerationInput> other = {{.source = {}, .prompt = {9}}};
  const Sequences found = generate(*runner, other, options_for(39));
  EXPECT_EQ(found[0][0].ids, alone({9}, 39));
  for (const std::size_t i : {1U, 0U}) {
    const auto again = runner->generate({&inputs[i], 1}, options_for(2)).value();
    EXPECT_EQ(again[0].usage.cached_tokens == 12, i == 1);
    EXPECT_EQ(again[0].sequences.front().ids, alone(inputs[i].prompt, 2));
  }
}

TEST(KeptSequence, ThatYieldsGivesUpItsPagesAlsoToWhatGoesOnFromIt) {
  const auto fake = decoder_alone();
  fake->pages = 13;  // of one sequence of fifty positions
  const auto runner = open_fake(fake);
  GenerationOptions keeping = options_for(4);
  keeping.keep = keeping.yields = true;
  std::vector<GenerationInput> inputs = {{.source = {}, .prompt = std::vector<TokenId>(10, 3)}};
  const Sequences first = generate(*runner, inputs, keeping);
  // Thirteen tokens are kept, in four pages. A sequence that goes on from them shares three.
  inputs[0] = {.source = {}, .prompt = first[0][0].ids, .kept = first[0][0].kept};
  const auto found = runner->generate(inputs, options_for(36));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->front().usage.cached_tokens, 12) << "of the full pages nothing is read again";
  EXPECT_EQ(found->front().sequences.front().ids, alone(inputs[0].prompt, 36));
}

// A model of eight sequences that have five pages of a window each, of which there are ten.
std::shared_ptr<FakeTokenModel> few_window_pages(bool sees_all) {
  auto fake = windowed_decoder(7, sees_all);
  fake->max_step_tokens = 8;
  fake->window_pages = 10;
  return fake;
}

TEST(KeptSequence, ThatYieldsGivesUpItsPagesAlsoWhereTheyAreOfAWindow) {
  for (const bool sees_all : {true, false}) {
    const auto fake = few_window_pages(sees_all);
    const auto runner = open_fake(fake);
    GenerationOptions keeping = options_for(3);
    keeping.keep = keeping.yields = true;
    std::vector<GenerationInput> inputs(2);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].prompt = std::vector<TokenId>(20, static_cast<TokenId>(3 + i));
      const Sequences first = generate(*runner, {&inputs[i], 1}, keeping);
      inputs[i].prompt = first[0][0].ids;
      inputs[i].kept = first[0][0].kept;
    }
    const std::vector<GenerationInput> other = {{.source = {}, .prompt = {9}}};
    const Sequences found = generate(*runner, other, options_for(49));
    EXPECT_EQ(found[0][0].ids, alone({9}, 49, few_window_pages(sees_all)));
    for (const std::size_t i : {1U, 0U}) {
      const auto again = runner->generate({&inputs[i], 1}, options_for(2)).value();
      EXPECT_EQ(again[0].usage.cached_tokens == 22, i == 1);
      EXPECT_EQ(again[0].sequences.front().ids,
                alone(inputs[i].prompt, 2, few_window_pages(sees_all)));
    }
  }
}

TEST(KeptSequence, HoldsPagesOfAWindowUntilItIsGone) {
  for (const bool sees_all : {true, false}) {
    const auto runner = open_fake(few_window_pages(sees_all));
    std::vector<Conversation> conversations(4, Conversation(*runner));
    for (std::size_t i = 0; i < conversations.size(); ++i) {
      const std::vector<TokenId> prompt(20, static_cast<TokenId>(3 + i));
      const auto result = conversations[i].generate(prompt, options_for(20));
      if (i < 3) {  // two pages each
        ASSERT_TRUE(result) << result.error().message;
      } else {
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().message,
                  "the request needs 5 pages; sequences that are kept hold 6 of the model's 10: "
                  "drop some of them");
      }
    }
    conversations.erase(conversations.begin());
    EXPECT_TRUE(conversations.back().generate(std::vector<TokenId>(20, 9), options_for(20)));
  }
}

TEST(Conversation, OutlivesItsRunnersMemoryOfIt) {
  auto runner = open_fake(decoder_alone());
  Conversation conversation(*runner);
  ASSERT_TRUE(conversation.generate(std::vector<TokenId>{3, 4, 5}, options_for(4)));
  runner.reset();
  EXPECT_EQ(conversation.tokens().size(), 7U);
}

TEST(KeptSequence, IsOneOfAnInput) {
  const auto runner = open_fake(decoder_alone());
  GenerationOptions options = options_with_beams(2);
  options.keep = true;
  const std::vector<GenerationInput> inputs = {{.source = {}, .prompt = {5}}};
  EXPECT_THAT(runner->generate(inputs, options).error().message,
              HasSubstr("one sequence of an input is kept: num_beams is 2"));
}

TEST(KeptSequence, IsGoneOnFromByAnyNumberOfSequencesAndBeams) {
  const auto fake = decoder_alone();
  const auto runner = open_fake(fake);
  GenerationOptions keeping = options_for(3);
  keeping.keep = true;
  std::vector<GenerationInput> inputs = {{.source = {}, .prompt = std::vector<TokenId>(17, 6)}};
  const Sequences first = generate(*runner, inputs, keeping);
  ASSERT_NE(first[0][0].kept, nullptr);
  EXPECT_EQ(first[0][0].kept->tokens.size(), 19U);
  for (const bool beams : {false, true}) {
    GenerationOptions options = options_for(5);
    config_of(options).num_return_sequences = 3;
    if (beams) {
      config_of(options).num_beams = 3;
    } else {
      config_of(options).do_sample = true;
      config_of(options).seed = 4;
    }
    inputs = {{.source = {}, .prompt = first[0][0].ids, .kept = first[0][0].kept}};
    const auto found = runner->generate(inputs, options).value();
    EXPECT_EQ(found[0].usage.cached_tokens, 19);
    inputs[0].kept = nullptr;
    EXPECT_TRUE(found[0].sequences ==
                generate(*open_fake(decoder_alone()), inputs, options).front());
  }
}

TEST(KeptSequence, OfAContextThatSlidIsWhatTheModelSaw) {
  for (const std::size_t prompt : {45U, 60U}) {
    const auto runner = open_fake(decoder_alone());
    GenerationOptions options = options_for(9);
    config_of(options).context = ContextPolicy::kSlide;
    options.keep = true;
    std::vector<GenerationInput> inputs(1);
    for (std::size_t i = 0; i < prompt; ++i) {
      inputs[0].prompt.push_back(static_cast<TokenId>(i % 37));
    }
    const GeneratedSequence found = generate(*runner, inputs, options)[0][0];
    ASSERT_NE(found.kept, nullptr);
    inputs[0] = {.source = {}, .prompt = joined(found.kept->tokens, {9}), .kept = found.kept};
    const auto again = runner->generate(inputs, options_for(3)).value();
    EXPECT_EQ(again[0].usage.cached_tokens, std::ssize(found.kept->tokens));
    EXPECT_EQ(again[0].sequences.front().ids, alone(inputs[0].prompt, 3));
  }
}

TEST(KeptSequence, OfAnotherRunnerIsReadAnew) {
  GenerationOptions options = options_for(3);
  options.keep = true;
  std::vector<GenerationInput> inputs = {{.source = {}, .prompt = {3, 4, 5, 6, 7, 8}}};
  const auto runner = open_fake(decoder_alone());
  inputs[0].kept = generate(*open_fake(decoder_alone()), inputs, options)[0][0].kept;
  const auto found = runner->generate(inputs, options).value();
  EXPECT_EQ(found[0].usage.cached_tokens, 0);
  EXPECT_EQ(found[0].sequences.front().ids, alone({3, 4, 5, 6, 7, 8}, 3));
}

}  // namespace
}  // namespace polystate
