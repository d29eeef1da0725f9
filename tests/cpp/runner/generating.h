#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/runner/open_runner.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "runner/fake_token_model.h"

namespace polystate {

// The runner of a fake model.
inline std::unique_ptr<Runner> open_fake(const std::shared_ptr<FakeTokenModel>& fake) {
  auto runner = open_runner(make_model(fake));
  EXPECT_TRUE(runner) << runner.error().message;
  return std::move(runner).value();
}

// A configuration of sequences that start from token 0 and end with token 1.
inline GenerationConfig config_with_beams(std::int64_t num_beams) {
  GenerationConfig config;
  config.num_beams = num_beams;
  config.decoder_start_token_id = 0;
  config.eos_token_id = {1};
  config.pad_token_id = 0;
  return config;
}

inline GenerationOptions options_with_beams(std::int64_t num_beams) {
  GenerationOptions options;
  options.config = config_with_beams(num_beams);
  return options;
}

// The configuration of options, which there is one of from then on.
inline GenerationConfig& config_of(CallOptions& options) {
  return options.config.has_value() ? *options.config : options.config.emplace();
}

// Options of one sequence of so many new tokens, which no token ends.
inline GenerationOptions options_for(std::int64_t new_tokens) {
  GenerationOptions options = options_with_beams(1);
  config_of(options).max_new_tokens = new_tokens;
  config_of(options).eos_token_id = {};
  return options;
}

// Sources of 1 to `longest` random tokens.
inline std::vector<GenerationInput> random_inputs(std::size_t count, unsigned seed,
                                                  std::size_t longest = 30) {
  std::mt19937 random(seed);
  std::vector<GenerationInput> inputs(count);
  for (GenerationInput& input : inputs) {
    input.source.resize(1 + random() % longest);
    for (TokenId& token : input.source) token = static_cast<TokenId>(random() % 40);
  }
  return inputs;
}

inline bool operator==(const GeneratedSequence& left, const GeneratedSequence& right) {
  return left.ids == right.ids && left.score == right.score;
}

using Sequences = std::vector<std::vector<GeneratedSequence>>;

inline Sequences sequences_of(std::vector<GenerationResult> results) {
  Sequences sequences;
  for (GenerationResult& result : results) sequences.push_back(std::move(result.sequences));
  return sequences;
}

inline Sequences generate(Runner& runner, std::span<const GenerationInput> inputs,
                          const GenerationOptions& options) {
  auto generated = runner.generate(inputs, options);
  EXPECT_TRUE(generated) << generated.error().message;
  return generated ? sequences_of(std::move(*generated)) : Sequences(inputs.size());
}

// The most probable token at each step, without a runner.
inline std::vector<TokenId> greedy(const FakeTokenModel& fake, const GenerationInput& input,
                                   std::int64_t max_length) {
  const std::vector<std::int64_t> source(input.source.begin(), input.source.end());
  std::vector<std::int64_t> tokens = {0};
  while (static_cast<std::int64_t>(tokens.size()) < max_length && tokens.back() != 1) {
    const auto logits = fake_logits(fake, source, tokens);
    tokens.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  return {tokens.begin(), tokens.end()};
}

// Options of every kind of search. With none of them may the result of an input depend on others.
inline std::vector<GenerationOptions> kinds_of_options() {
  GenerationOptions sampled = options_with_beams(1);
  config_of(sampled).do_sample = true;
  config_of(sampled).seed = 5;
  GenerationOptions three = sampled;
  config_of(three).num_return_sequences = 3;
  GenerationOptions beams = options_with_beams(4);
  config_of(beams).num_return_sequences = 2;
  GenerationOptions sampled_beams = options_with_beams(3);
  config_of(sampled_beams).do_sample = true;
  config_of(sampled_beams).seed = 6;
  return {options_with_beams(1), sampled, three, beams, sampled_beams};
}

// A model whose sessions may run on three threads.
inline std::shared_ptr<FakeTokenModel> three_threads(std::int64_t rows) {
  auto fake = std::make_shared<FakeTokenModel>();
  fake->threads = 3;
  fake->max_sequences = rows;
  return fake;
}

}  // namespace polystate
