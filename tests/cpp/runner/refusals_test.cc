#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/open_runner.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "runner/fake_token_model.h"
#include "runner/generating.h"
#include "session/fake_engine.h"

namespace polystate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Change = std::function<void(GenerationOptions&, std::vector<GenerationInput>&)>;

// Expects that `generate` refuses three good inputs after `change`, with `message`, without having
// asked the engine, and that the runner works afterwards.
void expect_refused(const Change& change, const std::string& message) {
  const auto fake = std::make_shared<FakeTokenModel>();
  const auto runner = open_fake(fake);
  auto inputs = random_inputs(3, 1);
  GenerationOptions options = options_with_beams(1);
  change(options, inputs);
  const auto generated = runner->generate(inputs, options);
  ASSERT_FALSE(generated) << message;
  EXPECT_EQ(generated.error().code, ErrorCode::kContract);
  EXPECT_THAT(generated.error().message, HasSubstr(message));
  EXPECT_EQ(fake->calls, 0);
  EXPECT_TRUE(runner->generate(random_inputs(3, 1), options_with_beams(2)));
}

TEST(Refusals, OfASourceNameTheInputAndTheLimit) {
  expect_refused([](auto&, auto& inputs) { inputs[1].source.assign(31, 5); },
                 "input 1: the source has 31 tokens; the model takes 30");
  expect_refused([](auto&, auto& inputs) { inputs[2].source.clear(); },
                 "input 2: the source is empty");
  expect_refused([](auto&, auto& inputs) { inputs[0].source = {3, 40}; },
                 "input 0, source, token 1: 40 is past the vocabulary's 40 tokens");
}

TEST(Refusals, CallAnInputWhatTheCallerCallsIt) {
  expect_refused(
      [](auto& options, auto& inputs) {
        options.name_of = [](std::size_t input) { return "line " + std::to_string(input + 1); };
        inputs[1].prompt.assign(51, 2);
      },
      "line 2: the prompt has 51 tokens");
}

TEST(Refusals, OfAPromptNameTheInputAndTheLimit) {
  expect_refused([](auto&, auto& inputs) { inputs[1].prompt = {0, 1000, 2}; },
                 "input 1, prompt, token 1: 1000 is past the vocabulary's 40 tokens");
  expect_refused([](auto&, auto& inputs) { inputs[1].prompt.assign(50, 2); },
                 "input 1: the prompt has 50 tokens; the model has room for 50, generated ones "
                 "included: at least 1 token too many");
  expect_refused(
      [](auto& options, auto& inputs) {
        inputs[1].prompt.assign(8, 2);
        config_of(options).max_length = 8;
      },
      "input 1: max_length is 8; the prompt of 8 leaves no token to generate");
}

TEST(Refusals, OfLengthsGiveBothNumbers) {
  expect_refused(
      [](auto& options, auto&) { config_of(options).max_length = 51; },
      "max_length is 51; the model has room for sequences of 50 tokens: 1 token too many");
  expect_refused([](auto& options, auto&) { config_of(options).max_new_tokens = 52; },
                 "max_new_tokens is 52 after a prompt of 1; the model has room for sequences of "
                 "50 tokens: 3 tokens too many");
  expect_refused(
      [](auto& options, auto&) {
        config_of(options).max_new_tokens = std::numeric_limits<std::int32_t>::max();
      },
      "the model has room for sequences of 50 tokens");
  expect_refused([](auto& options, auto&) { config_of(options).max_cache_len = 51; },
                 "max_cache_len is 51; the caches of the artifact have 50 positions");
  expect_refused([](auto& options, auto&) { config_of(options).max_length = 1; },
                 "max_length is 1; the prompt of 1 leaves no token to generate");
}

TEST(Refusals, OfStopStringsSayWhoKnowsText) {
  expect_refused([](auto& options, auto&) { config_of(options).stop_strings = {"."}; },
                 "stop_strings: a runner knows no text");
}

TEST(Refusals, OfAContextThatCannotSlideNameTheLimit) {
  expect_refused(
      [](auto& options, auto&) {
        config_of(options).context = ContextPolicy::kSlide;
        config_of(options).max_length = 51;
      },
      "only a decoder alone slides; max_length may be 50 at most");
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->max_source_length = 0;
  const auto runner = open_fake(fake);
  GenerationOptions options = options_with_beams(1);
  config_of(options).context = ContextPolicy::kSlide;
  config_of(options).max_length = 100;
  config_of(options).keep_tokens = 49;
  const std::vector<GenerationInput> inputs = {{.source = {}, .prompt = {3}}};
  EXPECT_THAT(runner->generate(inputs, options).error().message,
              HasSubstr("keep_tokens is 49; of the model's 50 positions at most 48 may be kept"));
  config_of(options).keep_tokens = 48;
  EXPECT_TRUE(runner->generate(inputs, options));
}

TEST(Refusals, OfMoreRowsThanThereAreGiveBothNumbers) {
  expect_refused([](auto& options, auto&) { config_of(options).num_beams = 9; },
                 "num_beams is 9; the model has 8 rows");
  expect_refused(
      [](auto& options, auto&) {
        config_of(options).do_sample = true;
        config_of(options).num_return_sequences = 9;
      },
      "num_return_sequences is 9; the model has 8 rows");
}

TEST(Refusals, OfOptionsNameThem) {
  expect_refused([](auto& options, auto&) { config_of(options).num_beams = 0; }, "num_beams");
  expect_refused([](auto& options, auto&) { config_of(options).num_return_sequences = 2; },
                 "num_return_sequences");
  expect_refused(
      [](auto& options, auto&) {
        config_of(options).num_beams = 2;
        config_of(options).num_return_sequences = 3;
      },
      "num_return_sequences");
  expect_refused([](auto& options, auto&) { config_of(options).decoder_start_token_id.reset(); },
                 "neither decoder_start_token_id nor bos_token_id is given");
  expect_refused([](auto& options, auto&) { config_of(options).decoder_start_token_id = 40; },
                 "decoder_start_token_id: 40 is past");
  expect_refused([](auto& options, auto&) { config_of(options).pad_token_id = 41; },
                 "pad_token_id: 41 is past");
}

TEST(Refusals, OfABiasThatIsNotFiniteAsAFloat) {
  for (const double bias : {1e39, -1e39, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()}) {
    expect_refused(
        [bias](auto& options, auto&) {
          config_of(options).sequence_bias.emplace_back(std::vector<TokenId>{3}, bias);
        },
        "a bias is finite as a float32");
  }
}

TEST(Refusals, OfWhatBeamsCannotDo) {
  expect_refused(
      [](auto& options, auto&) {
        config_of(options).num_beams = 2;
        options.on_token = [](std::size_t, TokenId) { return true; };
      },
      "a stream is of one sequence of an input: num_beams is 2");
  expect_refused(
      [](auto& options, auto&) {
        config_of(options).num_beams = 2;
        options.sampler = make_sampler(config_of(options));
      },
      "a sampler chooses no beams: num_beams is 2");
}

// Makes every score the same.
class Constant final : public LogitsProcessor {
 public:
  explicit Constant(float score) : score_(score) {}
  Status process(const TokenContext&, std::span<float> scores) const override {
    for (float& score : scores) score = score_;
    return {};
  }

 private:
  float score_;
};

TEST(Refusals, WhenAProcessorLeavesNoTokenToChoose) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(4, 2);
  for (const std::int64_t beams : {1, 2}) {
    for (const float score :
         {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
      GenerationOptions options = options_with_beams(beams);
      options.processors = {std::make_shared<Constant>(score)};
      const auto generated = runner->generate(inputs, options);
      ASSERT_FALSE(generated);
      EXPECT_EQ(generated.error().code, ErrorCode::kContract);
    }
    EXPECT_TRUE(runner->generate(inputs, options_with_beams(beams)));
  }
}

TEST(Refusals, AFailureOfTheEngineAtAnyCallLeavesTheRunnerUsable) {
  const auto inputs = random_inputs(6, 3);
  const GenerationOptions options = options_with_beams(3);
  const auto whole = std::make_shared<FakeTokenModel>();
  const auto expected = open_fake(whole)->generate(inputs, options);
  ASSERT_GT(whole->copies, 0);
  for (int call = 0; call < whole->calls; call += 3) {
    const auto fake = std::make_shared<FakeTokenModel>();
    fake->fails_at = call;
    const auto runner = open_fake(fake);
    const auto failed = runner->generate(inputs, options);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, ErrorCode::kEngine);
    EXPECT_EQ(fake->resets, 1);
    const auto generated = runner->generate(inputs, options);
    ASSERT_TRUE(generated) << generated.error().message;
    EXPECT_TRUE(sequences_of(*generated) == sequences_of(*expected));
  }
}

TEST(Refusals, OfASecondCallWhileOneRuns) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  const auto inputs = random_inputs(1, 4);
  GenerationOptions options = options_with_beams(1);
  std::vector<ErrorCode> codes;
  options.on_token = [&](std::size_t, TokenId) {
    const auto second = runner->generate(inputs, options_with_beams(1));
    codes.push_back(second ? ErrorCode::kIo : second.error().code);
    return false;
  };
  EXPECT_TRUE(runner->generate(inputs, options));
  EXPECT_THAT(codes, ElementsAre(ErrorCode::kBusy));
}

TEST(Refusals, OfAnArtifactThatDoesNotGenerate) {
  const auto runner = open_runner(fake_model(std::make_shared<FakeScript>()));
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, ErrorCode::kContract);
  EXPECT_THAT(runner.error().message, HasSubstr("no constant 'runner'"));
}

TEST(Refusals, OfAnArtifactWithTooFewPagesForOneSequence) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->pages = 12;
  const auto runner = open_runner(make_model(fake));
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, ErrorCode::kArtifact);
  EXPECT_THAT(runner.error().message, HasSubstr("too small for one sequence"));
}

TEST(DefaultConfig, IsOfTheArtifactAndFitsItsRoom) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->generation_config = R"({"num_beams": 4, "max_length": 512, "eos_token_id": 1})";
  const auto runner = open_fake(fake);
  EXPECT_EQ(runner->default_config().num_beams, 4);
  EXPECT_EQ(runner->default_config().max_length, 50);
  EXPECT_THAT(runner->warnings(),
              ElementsAre("generation_config.json: max_length is 512 and becomes 50: the model "
                          "has room for sequences of 50 tokens"));
  EXPECT_EQ(runner->max_length(), 50);
  EXPECT_EQ(runner->max_source_length(), 30);
}

TEST(DefaultConfig, GivesUpMaxNewTokensThatThereIsNoRoomFor) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->generation_config =
      R"({"max_new_tokens": 50, "max_cache_len": 51, "decoder_start_token_id": 0})";
  const auto runner = open_fake(fake);
  EXPECT_THAT(runner->warnings(),
              ElementsAre(HasSubstr("generation_config.json: 'max_cache_len': 51 has no effect"),
                          HasSubstr("max_new_tokens is 50 and becomes")));
  GenerationOptions options;
  options.config = runner->default_config();
  EXPECT_TRUE(runner->generate(random_inputs(2, 1), options));
}

TEST(DefaultConfig, IsTransformersWhereTheArtifactHasNone) {
  const auto runner = open_fake(std::make_shared<FakeTokenModel>());
  EXPECT_EQ(runner->default_config().num_beams, 1);
  EXPECT_FALSE(runner->default_config().max_length);
  EXPECT_THAT(runner->warnings(), IsEmpty());
}

TEST(DefaultConfig, IsRefusedWithTheFilesName) {
  const auto fake = std::make_shared<FakeTokenModel>();
  fake->generation_config = R"({"num_beams": "four"})";
  const auto runner = open_runner(make_model(fake));
  ASSERT_FALSE(runner);
  EXPECT_EQ(runner.error().code, ErrorCode::kArtifact);
  EXPECT_THAT(runner.error().message, HasSubstr("generation_config.json"));
}

}  // namespace
}  // namespace polystate
