#include "polystate/sampler/generation_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "sampler/configuring.h"

namespace polystate {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

// A field and a JSON value of it.
struct FieldValue {
  std::string name;
  std::string json;
};

std::string file_with(const FieldValue& field) {
  return "{\"" + field.name + "\": " + field.json + "}";
}

TEST(GenerationConfig, AFileIsReadWithTransformersDefaultsForTheRest) {
  std::vector<std::string> warnings;
  const auto config = GenerationConfig::parse(R"({
      "_from_model_config": true, "transformers_version": "5.23.0", "use_cache": true,
      "bad_words_ids": [[58100], [3, 4]], "bos_token_id": 0, "decoder_start_token_id": 58100,
      "eos_token_id": 0, "forced_eos_token_id": 0, "max_length": 512, "num_beams": 4,
      "pad_token_id": 58100, "renormalize_logits": true, "length_penalty": null})",
                                              &warnings);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(warnings, IsEmpty());
  EXPECT_THAT(config->bad_words_ids, ElementsAre(ElementsAre(58100), ElementsAre(3, 4)));
  EXPECT_EQ(config->bos_token_id, 0U);
  EXPECT_EQ(config->decoder_start_token_id, 58100U);
  EXPECT_THAT(config->eos_token_id, ElementsAre(0));
  EXPECT_THAT(config->forced_eos_token_id, ElementsAre(0));
  EXPECT_EQ(config->max_length, 512);
  EXPECT_EQ(config->num_beams, 4);
  EXPECT_TRUE(config->renormalize_logits);
  EXPECT_EQ(config->length_penalty, 1.0);
  EXPECT_EQ(config->top_k, 50);
  EXPECT_FALSE(config->max_new_tokens.has_value());
  EXPECT_TRUE(config->validate());
}

TEST(GenerationConfig, EveryNameCanBeSetAndNullIsTheDefault) {
  for (const std::string_view name : GenerationConfig::names()) {
    GenerationConfig config;
    EXPECT_TRUE(config.set(name, "null")) << name;
  }
  GenerationConfig config = with("num_beams", "7");
  EXPECT_EQ(config.num_beams, 7);
  ASSERT_TRUE(config.set("num_beams", "null"));
  EXPECT_EQ(config.num_beams, 1);
}

TEST(GenerationConfig, ValuesOfEveryFormAreRead) {
  EXPECT_EQ(with("early_stopping", "true").early_stopping, EarlyStopping::kFirst);
  EXPECT_EQ(with("early_stopping", "false").early_stopping, EarlyStopping::kHeuristic);
  EXPECT_EQ(with("early_stopping", "\"never\"").early_stopping, EarlyStopping::kNever);
  EXPECT_THAT(with("eos_token_id", "[2, 3]").eos_token_id, ElementsAre(2, 3));
  EXPECT_THAT(with("forced_eos_token_id", "[2]").forced_eos_token_id, ElementsAre(2));
  EXPECT_EQ(with("temperature", "2").temperature, 2.0);
  EXPECT_EQ(with("length_penalty", "-0.5").length_penalty, -0.5);
  EXPECT_EQ(with("seed", "18446744073709551615").seed, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(with("exponential_decay_length_penalty", "[15, 1.5]").exponential_decay_length_penalty,
            (std::pair<std::int64_t, double>(15, 1.5)));
  EXPECT_THAT(with("suppress_tokens", "[]").suppress_tokens, IsEmpty());
  EXPECT_EQ(with("min_p", "0.25").min_p, 0.25);
  EXPECT_THAT(with("stop_strings", R"("\n")").stop_strings, ElementsAre("\n"));
  EXPECT_THAT(with("stop_strings", R"(["a", "bc"])").stop_strings, ElementsAre("a", "bc"));
}

TEST(GenerationConfig, BiasesAreReadAsAListAndAsTheDictionaryOfOlderFiles) {
  EXPECT_THAT(with("sequence_bias", "[[[3, 4], -1.5], [[5], 2]]").sequence_bias,
              ElementsAre(Pair(ElementsAre(3, 4), -1.5), Pair(ElementsAre(5), 2.0)));
  EXPECT_THAT(with("sequence_bias", R"json({"(3, 4)": -1.5, "(5,)": 2.0})json").sequence_bias,
              ElementsAre(Pair(ElementsAre(3, 4), -1.5), Pair(ElementsAre(5), 2.0)));
}

TEST(GenerationConfig, ANegativeTokenStandsForNone) {
  EXPECT_FALSE(with("pad_token_id", "-1").pad_token_id.has_value());
  EXPECT_THAT(with("eos_token_id", "-1").eos_token_id, IsEmpty());
  EXPECT_THAT(with("suppress_tokens", "[-1, 4]").suppress_tokens, ElementsAre(4));
}

TEST(GenerationConfig, WhatFilesHaveForNoneIsNone) {
  GenerationConfig config;
  ASSERT_TRUE(config.set("bad_words_ids", "[[1]]"));
  ASSERT_TRUE(config.set("bad_words_ids", "[]"));
  EXPECT_TRUE(config.bad_words_ids.empty());
  ASSERT_TRUE(config.set("top_k", "-1"));
  EXPECT_EQ(config.top_k, 0);
  ASSERT_TRUE(config.set("decoder_start_token_id", "[7]"));
  EXPECT_EQ(config.decoder_start_token_id, 7U);
}

TEST(GenerationConfig, AValueOfAnotherTypeIsRefusedByNameAndChangesNothing) {
  for (const FieldValue& field : std::vector<FieldValue>{
           {"num_beams", "4.0"},
           {"num_beams", "true"},
           {"num_beams", "\"4\""},
           {"num_beams", "0"},
           {"num_beams", "9223372036854775807"},
           {"num_beams", "1e400"},
           {"max_length", "2147483648"},
           {"max_new_tokens", "-1"},
           {"stop_strings", "3"},
           {"stop_strings", R"("")"},
           {"stop_strings", R"(["a", ""])"},
           {"logprobs", "-1"},
           {"logprobs", "true"},
           {"output_scores", "1"},
           {"frequency_penalty", "2.5"},
           {"presence_penalty", "-2.5"},
           {"min_length", "-1"},
           {"do_sample", "1"},
           {"early_stopping", "\"always\""},
           {"early_stopping", "0"},
           {"length_penalty", "\"1\""},
           {"length_penalty", "false"},
           {"temperature", "-0.5"},
           {"top_k", "-2"},
           {"top_p", "1.5"},
           {"min_p", "-0.1"},
           {"typical_p", "0"},
           {"repetition_penalty", "0"},
           {"repetition_penalty", "1e-46"},  // 0 in float32
           {"seed", "-1"},
           {"seed", "1.0"},
           {"bad_words_ids", "[[]]"},
           {"bad_words_ids", "[3]"},
           {"bad_words_ids", "[[-3]]"},
           {"bad_words_ids", "3"},
           {"sequence_bias", "[]"},
           {"sequence_bias", "{}"},
           {"sequence_bias", "[[[3]]]"},
           {"sequence_bias", "[[3, 1.0]]"},
           {"sequence_bias", "[[[], 1.0]]"},
           {"sequence_bias", R"({"3": 1.0})"},
           {"sequence_bias", R"json({"()": 1.0})json"},
           {"sequence_bias", R"json({"(3, [4])": 1.0})json"},
           {"sequence_bias", R"json({"(3)": "x"})json"},
           {"suppress_tokens", "3"},
           {"suppress_tokens", "[1.0]"},
           {"forced_bos_token_id", "[3]"},
           {"forced_bos_token_id", "-1"},
           {"forced_eos_token_id", "-1"},
           {"eos_token_id", "[[2]]"},
           {"eos_token_id", "4294967296"},
           {"exponential_decay_length_penalty", "[1]"},
           {"exponential_decay_length_penalty", "[1.5, 2]"},
           {"decoder_start_token_id", "[1, 2]"},
           {"decoder_start_token_id", "[[1]]"},
           {"decoder_start_token_id", "[]"},
           {"renormalize_logits", "{}"},
       }) {
    GenerationConfig config;
    const Status status = config.set(field.name, field.json);
    ASSERT_FALSE(status) << field.name << " " << field.json;
    EXPECT_EQ(status.error().code, ErrorCode::kContract);
    EXPECT_THAT(status.error().message, HasSubstr("'" + field.name + "'"));
    const auto parsed = GenerationConfig::parse(file_with(field));
    ASSERT_FALSE(parsed) << field.name << " " << field.json;
    EXPECT_EQ(parsed.error().code, ErrorCode::kArtifact);
  }
}

TEST(GenerationConfig, AMessageGivesTheLimitAndTheValue) {
  GenerationConfig config;
  EXPECT_EQ(config.set("num_beams", "4.0").error().message,
            "'num_beams': it must be a whole number from 1 to 2147483647, and is 4.0");
  EXPECT_EQ(config.set("top_p", "7").error().message,
            "'top_p': it must be a number from 0.0 to 1.0, and is 7.0");
  EXPECT_EQ(config.set("repetition_penalty", "null}").error().code, ErrorCode::kContract);
}

TEST(GenerationConfig, AnUnknownNameIsRefusedWithTheNearestAndInAFileWarnedOf) {
  GenerationConfig config;
  const Status status = config.set("num_beam", "4");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kContract);
  EXPECT_THAT(status.error().message, AllOf(HasSubstr("'num_beam'"), HasSubstr("'num_beams'")));
  EXPECT_THAT(config.set("temperature_", "1").error().message, HasSubstr("'temperature'"));
  EXPECT_THAT(config.set(std::string(1000000, 'x'), "1").error().message,
              EndsWith("there is no such field"));
  EXPECT_FALSE(config.set("", "1"));

  std::vector<std::string> warnings;
  ASSERT_TRUE(GenerationConfig::parse(R"({"alignment_heads": [[1, 2]]})", &warnings));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("'alignment_heads'")));
}

TEST(GenerationConfig, WhatHasNoMeaningHereIsAcceptedAndWarnedOfUnlessItAsksForNothing) {
  for (const FieldValue& field : std::vector<FieldValue>{{"use_cache", "false"},
                                                         {"cache_implementation", "\"static\""},
                                                         {"cache_config", R"({"nbits": 4})"},
                                                         {"max_cache_len", "64"},
                                                         {"compile_config", "{}"},
                                                         {"num_assistant_tokens", "5"},
                                                         {"output_attentions", "true"}}) {
    std::vector<std::string> warnings;
    EXPECT_TRUE(GenerationConfig::parse(file_with(field), &warnings)) << field.name;
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("'" + field.name + "'")));
    EXPECT_TRUE(GenerationConfig::parse(file_with(field)));
    with(field.name, field.json);
    std::vector<std::string> when_set;
    EXPECT_TRUE(GenerationConfig().set(field.name, field.json, &when_set));
    EXPECT_EQ(when_set, warnings);
  }
  std::vector<std::string> warnings;
  EXPECT_TRUE(GenerationConfig::parse(R"({"use_cache": true, "cache_implementation": null,
      "output_attentions": false, "return_dict_in_generate": true, "_commit_hash": "ab"})",
                                      &warnings));
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(GenerationConfig, CacheSettingsThatNoCacheHasAreRefused) {
  GenerationConfig config;
  for (const FieldValue& field : std::vector<FieldValue>{{"cache_implementation", "\"statik\""},
                                                         {"cache_implementation", "4"},
                                                         {"max_cache_len", "0"},
                                                         {"max_cache_len", "\"64\""}}) {
    const Status status = config.set(field.name, field.json);
    ASSERT_FALSE(status) << field.name << " " << field.json;
    EXPECT_EQ(status.error().code, ErrorCode::kContract);
    EXPECT_THAT(status.error().message, HasSubstr("'" + field.name + "': it must be"));
    EXPECT_EQ(GenerationConfig::parse(file_with(field)).error().code, ErrorCode::kArtifact);
  }
  ASSERT_TRUE(config.set("max_cache_len", "64"));
  EXPECT_EQ(config.max_cache_len, 64);
  EXPECT_FALSE(config.set("max_cache_len", "0"));
  EXPECT_EQ(config.max_cache_len, 64);
  ASSERT_TRUE(config.set("max_cache_len", "null"));
  EXPECT_FALSE(config.max_cache_len);
}

TEST(GenerationConfig, WhatWouldChangeTheResultIsNotSupported) {
  for (const FieldValue& field :
       std::vector<FieldValue>{{"guidance_scale", "1.5"},
                               {"watermarking_config", R"({"bias": 2.5})"},
                               {"penalty_alpha", "0.6"},
                               {"num_beam_groups", "2"},
                               {"diversity_penalty", "0.5"},
                               {"dola_layers", "\"high\""},
                               {"constraints", "[1]"},
                               {"force_words_ids", "[[1]]"},
                               {"low_memory", "true"},
                               {"top_h", "0.5"},
                               {"token_healing", "true"},
                               {"prompt_lookup_num_tokens", "3"},
                               {"assistant_early_exit", "3"},
                               {"assistant_ensemble_weight", "0.5"},
                               {"use_mtp", "true"}}) {
    const auto parsed = GenerationConfig::parse(file_with(field));
    ASSERT_FALSE(parsed) << field.name;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUnsupported);
    EXPECT_THAT(parsed.error().message, HasSubstr("'" + field.name + "'"));
    GenerationConfig config;
    EXPECT_EQ(config.set(field.name, field.json).error().code, ErrorCode::kUnsupported);
    with(field.name, "null");
  }
}

TEST(GenerationConfig, ANeutralValueOfWhatIsNotSupportedIsAccepted) {
  std::vector<std::string> warnings;
  const auto config = GenerationConfig::parse(
      R"({"guidance_scale": 1, "num_beam_groups": 1, "diversity_penalty": 0.0, "use_mtp": false,
          "penalty_alpha": 0, "low_memory": false, "token_healing": false, "top_h": null})",
      &warnings);
  EXPECT_TRUE(config) << config.error().message;
  EXPECT_THAT(warnings, IsEmpty());
}

TEST(GenerationConfig, ATextThatIsNotAnObjectIsAnError) {
  for (const std::string& text : std::vector<std::string>{
           "", "[]", "null", "{", R"({"a": 1,})", R"({"a": NaN})", "{} {}", "{\"\xff\": 1}",
           std::string(1000000, '['), R"({"a": )" + std::string(100000, '{'),
           "{\"num_beams\": 1" + std::string(400, '0') + "}"}) {
    const auto config = GenerationConfig::parse(text);
    ASSERT_FALSE(config) << text.substr(0, 40);
    EXPECT_EQ(config.error().code, ErrorCode::kArtifact);
    EXPECT_LT(config.error().message.size(), std::size_t{200});
  }
}

TEST(GenerationConfig, EveryCutOfAFileIsAnErrorOrAConfig) {
  const std::string text =
      R"json({"eos_token_id": [1, 2], "sequence_bias": {"(3, 4)": 1.5}, "early_stopping": "never",
          "bad_words_ids": [[1], [2, 3]], "exponential_decay_length_penalty": [1, 2.5]})json";
  EXPECT_TRUE(GenerationConfig::parse(text));
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(GenerationConfig::parse(text.substr(0, size)));
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char byte : {'\0', '[', '}', '"', '9', '-', '\xff'}) {
      std::string changed = text;
      changed[i] = byte;
      (void)GenerationConfig::parse(changed).has_value();
    }
  }
}

TEST(GenerationConfig, ANumberThatWasSetDirectlyIsCheckedByValidate) {
  GenerationConfig config;
  config.num_beams = 0;
  EXPECT_EQ(config.validate().error().code, ErrorCode::kContract);
  config = {};
  config.top_p = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(config.validate().error().message,
            "'top_p': it must be a number from 0.0 to 1.0, and is nan");
  config = {};
  config.max_new_tokens = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(config.validate());
}

TEST(GenerationConfig, FieldsThatContradictOneAnotherAreRefused) {
  GenerationConfig config;
  config.num_return_sequences = 2;
  EXPECT_THAT(config.validate().error().message, HasSubstr("num_return_sequences"));
  config.do_sample = true;
  EXPECT_TRUE(config.validate());
  config.do_sample = false;
  config.num_beams = 2;
  EXPECT_TRUE(config.validate());
  config.num_return_sequences = 3;
  EXPECT_FALSE(config.validate());

  config = {};
  config.temperature = 0.0;
  EXPECT_TRUE(config.validate());
  config.do_sample = true;
  EXPECT_THAT(config.validate().error().message, HasSubstr("temperature"));
  config.temperature = 1e-46;  // 0 in float32
  EXPECT_THAT(config.validate().error().message, HasSubstr("temperature"));

  config = {};
  config.max_new_tokens = 0;
  EXPECT_THAT(config.validate().error().message, HasSubstr("max_new_tokens"));
  config.prompt_logprobs = 0;
  EXPECT_TRUE(config.validate());

  config = {};
  config.suppress_tokens = {1, 2, 3};
  config.forced_eos_token_id = {2, 4};
  EXPECT_TRUE(config.validate());
  config.forced_eos_token_id = {2, 3};
  EXPECT_THAT(config.validate().error().message, HasSubstr("forced_eos_token_id"));
  config.forced_eos_token_id = {};
  config.forced_bos_token_id = 1;
  EXPECT_THAT(config.validate().error().message, HasSubstr("forced_bos_token_id"));

  config = {};
  config.exponential_decay_length_penalty = {5, 1.5};
  EXPECT_FALSE(config.validate());
  config.eos_token_id = {2};
  EXPECT_TRUE(config.validate());
}

}  // namespace
}  // namespace polystate
