#include "polystate/sampler/logits_processor.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "sampler/processors/processors.h"

namespace polystate {
namespace {

Status check_tokens(std::string_view field, std::span<const TokenId> tokens, std::size_t size) {
  for (const TokenId token : tokens) {
    if (token < size) continue;
    return Error{ErrorCode::kContract, "'" + std::string(field) + "': there is no token " +
                                           std::to_string(token) + " in a vocabulary of " +
                                           std::to_string(size)};
  }
  return {};
}

// The fields that must name tokens of the vocabulary. In others a token that is not in it is one
// that the model never chooses, as transformers sees it.
Status check_vocabulary(const GenerationConfig& config, std::size_t size) {
  for (const auto& [tokens, bias] : config.sequence_bias) {
    if (auto status = check_tokens("sequence_bias", tokens, size); !status) return status;
  }
  for (const auto& tokens : config.bad_words_ids) {
    if (auto status = check_tokens("bad_words_ids", tokens, size); !status) return status;
  }
  if (config.forced_bos_token_id) {
    const TokenId token = *config.forced_bos_token_id;
    if (auto status = check_tokens("forced_bos_token_id", {&token, 1}, size); !status)
      return status;
  }
  if (config.exponential_decay_length_penalty) {
    if (auto status = check_tokens("eos_token_id", config.eos_token_id, size); !status)
      return status;
  }
  return check_tokens("forced_eos_token_id", config.forced_eos_token_id, size);
}

std::vector<TokenId> known(std::vector<TokenId> tokens, std::size_t size) {
  std::erase_if(tokens, [size](TokenId token) { return token >= size; });
  return tokens;
}

// Each `add` adds what its part of the configuration asks for, in transformers' order.

void add_repetition(const GenerationConfig& config, LogitsProcessors& processors) {
  if (!config.sequence_bias.empty())
    processors.push_back(sampler::sequence_bias(config.sequence_bias));
  if (config.encoder_repetition_penalty != 1.0)
    processors.push_back(sampler::encoder_repetition_penalty(config.encoder_repetition_penalty));
  if (config.repetition_penalty != 1.0)
    processors.push_back(sampler::repetition_penalty(config.repetition_penalty));
  if (config.frequency_penalty != 0.0)
    processors.push_back(sampler::frequency_penalty(config.frequency_penalty));
  if (config.presence_penalty != 0.0)
    processors.push_back(sampler::presence_penalty(config.presence_penalty));
  if (config.no_repeat_ngram_size > 0) {
    processors.push_back(
        sampler::no_repeat_ngram(static_cast<std::size_t>(config.no_repeat_ngram_size)));
  }
  if (config.encoder_no_repeat_ngram_size > 0) {
    processors.push_back(sampler::encoder_no_repeat_ngram(
        static_cast<std::size_t>(config.encoder_no_repeat_ngram_size)));
  }
  if (!config.bad_words_ids.empty())
    processors.push_back(sampler::bad_words(config.bad_words_ids, config.eos_token_id));
}

void add_lengths(const GenerationConfig& config, const ProcessorContext& setting,
                 LogitsProcessors& processors) {
  const auto prompt_length = static_cast<std::int64_t>(setting.prompt_length);
  const std::int64_t min_length =
      config.min_new_tokens ? prompt_length + *config.min_new_tokens : config.min_length;
  if (min_length > 0) {
    processors.push_back(
        sampler::suppress_before(known(config.eos_token_id, setting.vocabulary_size), min_length));
  }
  if (config.forced_bos_token_id)
    processors.push_back(sampler::force_at({*config.forced_bos_token_id}, 1));
  if (!config.forced_eos_token_id.empty())
    processors.push_back(sampler::force_at(config.forced_eos_token_id, setting.max_length - 1));
  if (config.remove_invalid_values) processors.push_back(sampler::remove_invalid_values());
  if (const auto& decay = config.exponential_decay_length_penalty) {
    processors.push_back(sampler::exponential_decay(config.eos_token_id,
                                                    prompt_length + decay->first, decay->second));
  }
}

void add_suppressed(const GenerationConfig& config, const ProcessorContext& setting,
                    LogitsProcessors& processors) {
  if (!config.suppress_tokens.empty())
    processors.push_back(sampler::suppress(known(config.suppress_tokens, setting.vocabulary_size)));
  if (config.begin_suppress_tokens.empty()) return;
  // The first token that is free to be chosen.
  const bool first_is_forced = setting.prompt_length <= 1 && config.forced_bos_token_id;
  processors.push_back(sampler::suppress_at(
      known(config.begin_suppress_tokens, setting.vocabulary_size),
      static_cast<std::int64_t>(setting.prompt_length) + (first_is_forced ? 1 : 0)));
}

void add_sampling(const GenerationConfig& config, LogitsProcessors& processors) {
  // A beam must be able to go on, whatever ends it.
  const std::size_t keep =
      config.num_beams > 1 ? std::max<std::size_t>(config.eos_token_id.size(), 1) + 1 : 1;
  if (config.temperature != 1.0) processors.push_back(sampler::temperature(config.temperature));
  if (config.top_k > 0)
    processors.push_back(sampler::top_k(static_cast<std::size_t>(config.top_k), keep));
  if (config.top_p < 1.0) processors.push_back(sampler::top_p(config.top_p, keep));
  if (config.min_p) processors.push_back(sampler::min_p(*config.min_p, keep));
  if (config.typical_p && *config.typical_p < 1.0)
    processors.push_back(sampler::typical_p(*config.typical_p, keep));
  const double epsilon = config.epsilon_cutoff.value_or(0.0);
  if (epsilon > 0.0 && epsilon < 1.0) processors.push_back(sampler::epsilon_cutoff(epsilon, keep));
  const double eta = config.eta_cutoff.value_or(0.0);
  if (eta > 0.0 && eta < 1.0) processors.push_back(sampler::eta_cutoff(eta, keep));
}

}  // namespace

Result<std::unique_ptr<RowState>> LogitsProcessor::start(const TokenContext& /*context*/) const {
  return std::unique_ptr<RowState>();
}

Result<LogitsProcessors> make_logits_processors(const GenerationConfig& config,
                                                const ProcessorContext& setting,
                                                const LogitsProcessors& own) {
  if (const auto status = config.validate(); !status) return status.error();
  if (const auto status = check_vocabulary(config, setting.vocabulary_size); !status)
    return status.error();
  LogitsProcessors processors;
  add_repetition(config, processors);
  add_lengths(config, setting, processors);
  add_suppressed(config, setting, processors);
  processors.insert(processors.end(), own.begin(), own.end());
  if (config.do_sample) add_sampling(config, processors);
  if (config.renormalize_logits) processors.push_back(sampler::renormalize());
  return processors;
}

}  // namespace polystate
