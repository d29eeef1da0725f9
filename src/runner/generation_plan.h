#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "runner/encoder_decoder_limits.h"
#include "runner/search.h"

namespace polystate {

struct PlannedInput {
  std::span<const TokenId> source;
  std::span<const TokenId> prompt;  // or the start token
  std::int64_t max_length;          // of its sequences
};

// One call of `generate`, checked: what can be refused was refused. It borrows the caller's inputs
// and options, and is where its searches find what they borrow.
class GenerationPlan {
 public:
  // kContract as Runner::generate. The message names the input, or the option.
  static Result<GenerationPlan> create(std::span<const GenerationInput> inputs,
                                       const GenerationOptions& options,
                                       const EncoderDecoderLimits& limits);

  GenerationPlan(GenerationPlan&&) noexcept = default;
  GenerationPlan& operator=(GenerationPlan&&) noexcept = default;
  GenerationPlan(const GenerationPlan&) = delete;  // inputs_ refers to start_
  GenerationPlan& operator=(const GenerationPlan&) = delete;
  ~GenerationPlan() = default;

  [[nodiscard]] std::span<const PlannedInput> inputs() const { return inputs_; }
  [[nodiscard]] const GenerationOptions& options() const { return *options_; }
  // Rows that run side by side: as many as the model has, and has pages for.
  [[nodiscard]] std::size_t rows() const { return rows_; }
  // Rows that an input needs: its beams, or its sequences.
  [[nodiscard]] std::size_t rows_per_input() const { return rows_per_input_; }
  // What fills up the sources of a batch.
  [[nodiscard]] TokenId pad() const;
  // Whether processors, a sampler or a callback of the caller's take part in choosing tokens.
  [[nodiscard]] bool runs_callers_code() const;
  // For each input the first one that gets the same sequences: one of the same source and prompt,
  // where nothing is drawn and no code of the caller's takes part; else itself.
  [[nodiscard]] std::vector<std::size_t> first_alike() const;
  // What the search of input `input` is for.
  [[nodiscard]] SearchSetting setting(std::size_t input) const;

 private:
  explicit GenerationPlan(const GenerationOptions& options) : options_(&options) {}

  Status plan_inputs(std::span<const GenerationInput> inputs, const EncoderDecoderLimits& limits);
  Status plan_rows(const EncoderDecoderLimits& limits);
  Status make_processors(std::size_t vocabulary_size);

  const GenerationOptions* options_;
  std::vector<TokenId> start_;  // the prompt of inputs without one
  std::vector<PlannedInput> inputs_;
  std::size_t rows_ = 0;
  std::size_t rows_per_input_ = 0;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const Sampler> sampler_;
  std::map<std::size_t, LogitsProcessors> processors_;  // by length of the prompt
};

}  // namespace polystate
