#include "runner/generation_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/logits_processor.h"
#include "polystate/sampler/sampler.h"
#include "runner/encoder_decoder_limits.h"
#include "runner/search.h"
#include "runner/sequence_length.h"

namespace polystate {
namespace {

Error contract_error(const std::string& message) { return {ErrorCode::kContract, message}; }

Status check_options(const GenerationOptions& options) {
  const GenerationConfig& config = options.config;
  if (Status valid = config.validate(); !valid) return valid;
  if (config.num_beams > 1 && options.sampler != nullptr) {
    return contract_error("a sampler chooses no beams: num_beams is " +
                          std::to_string(config.num_beams));
  }
  if (options.on_token != nullptr && (config.num_beams > 1 || config.num_return_sequences > 1)) {
    return contract_error("a stream is of one sequence of an input: num_beams is " +
                          std::to_string(config.num_beams) + ", num_return_sequences is " +
                          std::to_string(config.num_return_sequences));
  }
  return {};
}

// Which of `ids` is not in the vocabulary.
std::optional<std::size_t> find_unknown(std::span<const TokenId> ids, std::int64_t vocabulary) {
  const auto found = std::find_if(ids.begin(), ids.end(), [vocabulary](TokenId id) {
    return static_cast<std::int64_t>(id) >= vocabulary;
  });
  if (found == ids.end()) return std::nullopt;
  return static_cast<std::size_t>(found - ids.begin());
}

Status check_tokens(const std::string& label, std::span<const TokenId> ids,
                    std::int64_t vocabulary) {
  const auto unknown = find_unknown(ids, vocabulary);
  if (!unknown) return {};
  const std::string place = ids.size() > 1 ? ", token " + std::to_string(*unknown) : "";
  return contract_error(label + place + ": " + std::to_string(ids[*unknown]) +
                        " is past the vocabulary's " + std::to_string(vocabulary) + " tokens");
}

Status check_source(const std::string& label, std::span<const TokenId> source,
                    const EncoderDecoderLimits& limits) {
  if (source.empty()) return contract_error(label + ": the source is empty");
  if (static_cast<std::int64_t>(source.size()) > limits.max_source_length) {
    return contract_error(label + ": the source has " + std::to_string(source.size()) +
                          " tokens; the model takes " + std::to_string(limits.max_source_length));
  }
  return check_tokens(label + ", source", source, limits.vocabulary_size);
}

// The token that sequences without a prompt start from.
Result<TokenId> start_token(const GenerationConfig& config, std::int64_t vocabulary) {
  const auto start =
      config.decoder_start_token_id ? config.decoder_start_token_id : config.bos_token_id;
  if (!start) {
    return contract_error(
        "an input has no prompt, and neither decoder_start_token_id nor bos_token_id is given");
  }
  if (const Status known = check_tokens("decoder_start_token_id", {&*start, 1}, vocabulary);
      !known) {
    return known.error();
  }
  return *start;
}

// An order in which inputs of the same source and prompt are equal.
bool comes_before(const PlannedInput& left, const PlannedInput& right) {
  return std::ranges::equal(left.source, right.source)
             ? std::ranges::lexicographical_compare(left.prompt, right.prompt)
             : std::ranges::lexicographical_compare(left.source, right.source);
}

}  // namespace

Result<GenerationPlan> GenerationPlan::create(std::span<const GenerationInput> inputs,
                                              const GenerationOptions& options,
                                              const EncoderDecoderLimits& limits) {
  GenerationPlan plan(options);
  if (const Status valid = check_options(options); !valid) return valid.error();
  if (const Status planned = plan.plan_inputs(inputs, limits); !planned) return planned.error();
  if (const Status planned = plan.plan_rows(limits); !planned) return planned.error();
  const auto vocabulary = static_cast<std::size_t>(limits.vocabulary_size);
  if (const Status made = plan.make_processors(vocabulary); !made) return made.error();
  plan.sampler_ = options.sampler != nullptr ? options.sampler : make_sampler(options.config);
  plan.seed_ = options.config.seed ? *options.config.seed : std::random_device()();
  return plan;
}

Status GenerationPlan::plan_inputs(std::span<const GenerationInput> inputs,
                                   const EncoderDecoderLimits& limits) {
  const TokenId pad_id = pad();
  if (Status known = check_tokens("pad_token_id", {&pad_id, 1}, limits.vocabulary_size); !known) {
    return known;
  }
  const bool any_starts = std::any_of(inputs.begin(), inputs.end(),
                                      [](const auto& input) { return input.prompt.empty(); });
  if (any_starts) {
    const Result<TokenId> start = start_token(options_->config, limits.vocabulary_size);
    if (!start) return start.error();
    start_ = {*start};
  }
  inputs_.reserve(inputs.size());
  for (const GenerationInput& input : inputs) {
    const std::string label = "input " + std::to_string(inputs_.size());
    const std::span<const TokenId> prompt = input.prompt.empty() ? start_ : input.prompt;
    if (Status valid = check_source(label, input.source, limits); !valid) return valid;
    if (Status known = check_tokens(label + ", prompt", prompt, limits.vocabulary_size); !known) {
      return known;
    }
    const Result<std::int64_t> length =
        sequence_length(options_->config, prompt.size(), limits.max_length);
    if (!length) return contract_error(label + ": " + length.error().message);
    inputs_.push_back({input.source, prompt, *length});
  }
  return {};
}

Status GenerationPlan::plan_rows(const EncoderDecoderLimits& limits) {
  const GenerationConfig& config = options_->config;
  const bool beams = config.num_beams > 1;
  const std::int64_t needed = beams ? config.num_beams : config.num_return_sequences;
  std::int64_t longest = 1;
  for (const PlannedInput& input : inputs_) longest = std::max(longest, input.max_length);
  const std::int64_t rows = std::min(limits.max_batch, limits.pages / limits.pages_for(longest));
  if (needed > rows) {
    return contract_error(
        (beams ? "num_beams is " : "num_return_sequences is ") + std::to_string(needed) +
        "; the model has " + std::to_string(limits.max_batch) + " rows, and pages for " +
        std::to_string(rows) + " sequences of " + std::to_string(longest) + " tokens");
  }
  rows_ = static_cast<std::size_t>(rows);
  rows_per_input_ = static_cast<std::size_t>(needed);
  return {};
}

Status GenerationPlan::make_processors(std::size_t vocabulary_size) {
  for (const PlannedInput& input : inputs_) {
    // Inputs with prompts of one length have one max_length.
    if (processors_.contains(input.prompt.size())) continue;
    Result<LogitsProcessors> made = make_logits_processors(
        options_->config, {input.prompt.size(), input.max_length, vocabulary_size},
        options_->processors);
    if (!made) return made.error();
    processors_.emplace(input.prompt.size(), std::move(made).value());
  }
  return {};
}

TokenId GenerationPlan::pad() const {
  const GenerationConfig& config = options_->config;
  if (config.pad_token_id) return *config.pad_token_id;
  return config.eos_token_id.empty() ? 0 : config.eos_token_id.front();
}

bool GenerationPlan::runs_callers_code() const {
  return !options_->processors.empty() || options_->sampler != nullptr ||
         options_->on_token != nullptr;
}

std::vector<std::size_t> GenerationPlan::first_alike() const {
  std::vector<std::size_t> firsts(inputs_.size());
  std::iota(firsts.begin(), firsts.end(), std::size_t{0});
  if (options_->config.do_sample || runs_callers_code()) return firsts;
  const auto before = [this](std::size_t left, std::size_t right) {
    return comes_before(inputs_[left], inputs_[right]);
  };
  std::set<std::size_t, decltype(before)> distinct(before);
  for (std::size_t& first : firsts) first = *distinct.insert(first).first;
  return firsts;
}

SearchSetting GenerationPlan::setting(std::size_t input) const {
  const PlannedInput& planned = inputs_[input];
  std::function<bool(TokenId)> on_token;
  if (options_->on_token != nullptr) {
    on_token = [input, this](TokenId token) { return options_->on_token(input, token); };
  }
  return {
      .config = options_->config,
      .processors = processors_.at(planned.prompt.size()),
      .has_callers_processors = !options_->processors.empty(),
      .sampler = *sampler_,
      .prompt = planned.prompt,
      .source = planned.source,
      .max_length = planned.max_length,
      .seed = seed_,
      .first_sequence = input * static_cast<std::uint64_t>(options_->config.num_return_sequences),
      .on_token = std::move(on_token)};
}

}  // namespace polystate
