#include "sampler/other_fields.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "core/json.h"
#include "polystate/sampler/generation_config.h"

namespace polystate::sampler {
namespace {

using enum OtherField;

// transformers' ALL_CACHE_IMPLEMENTATIONS, and "paged", which it takes too.
constexpr auto kCacheImplementations = std::to_array<std::string_view>(
    {"static", "offloaded_static", "sliding_window", "hybrid", "hybrid_chunked", "offloaded_hybrid",
     "offloaded_hybrid_chunked", "dynamic", "offloaded", "quantized", "paged"});

std::optional<std::string> read_cache_implementation(const Json& value,
                                                     GenerationConfig& /*config*/) {
  const auto* const name = std::get_if<std::string>(&value.value);
  if (value.is_null()) return std::nullopt;
  if (name != nullptr &&
      std::ranges::find(kCacheImplementations, *name) != kCacheImplementations.end())
    return std::nullopt;
  std::string why = "it must be one of ";
  for (const std::string_view known : kCacheImplementations)
    why += std::string(known == kCacheImplementations.front() ? "" : ", ") + std::string(known);
  return why + ", and is " + described(value);
}

std::optional<std::string> read_max_cache_len(const Json& value, GenerationConfig& config) {
  if (value.is_null()) {
    config.max_cache_len.reset();
    return std::nullopt;
  }
  const auto* const length = std::get_if<std::int64_t>(&value.value);
  if (length == nullptr || *length < 1)
    return "it must be a whole number from 1, and is " + described(value);
  config.max_cache_len = *length;
  return std::nullopt;
}

constexpr auto kRules = std::to_array<OtherFieldRule>({
    // About the file.
    {"transformers_version", kIgnored, {}, true},
    {"_from_model_config", kIgnored, {}, true},
    {"_commit_hash", kIgnored, {}, true},

    // How transformers computes: caches, compilation, speculation with a second model that loses
    // nothing.
    {"use_cache", kIgnored, true},
    {"cache_implementation", kIgnored, {}, false, read_cache_implementation},
    {"cache_config", kIgnored},
    {"max_cache_len", kIgnored, {}, false, read_max_cache_len},
    {"prefill_chunk_size", kIgnored},
    {"compile_config", kIgnored},
    {"disable_compile", kIgnored, {}, true},
    {"continuous_batching_config", kIgnored},
    {"is_assistant", kIgnored, false},
    {"num_assistant_tokens", kIgnored},
    {"num_assistant_tokens_schedule", kIgnored},
    {"assistant_confidence_threshold", kIgnored},
    {"assistant_lookbehind", kIgnored},
    {"target_lookbehind", kIgnored},
    {"max_matching_ngram_size", kIgnored},
    {"speculation_type", kIgnored},

    // What transformers' `generate` returns besides tokens.
    {"return_dict_in_generate", kIgnored, {}, true},
    {"output_attentions", kIgnored, false},
    {"output_hidden_states", kIgnored, false},

    // Which tokens it chooses.
    {"guidance_scale", kRefused, 1.0},
    {"watermarking_config", kRefused},
    {"token_healing", kRefused, false},
    {"top_h", kRefused},
    {"assistant_ensemble_weight", kRefused},

    // How it searches.
    {"use_mtp", kRefused, false},
    {"prompt_lookup_num_tokens", kRefused},
    {"assistant_early_exit", kRefused},
    {"penalty_alpha", kRefused, 0.0},
    {"dola_layers", kRefused},
    {"num_beam_groups", kRefused, 1.0},
    {"diversity_penalty", kRefused, 0.0},
    {"constraints", kRefused},
    {"force_words_ids", kRefused},
    {"low_memory", kRefused, false},
});

}  // namespace

std::span<const OtherFieldRule> other_fields() { return kRules; }

bool is_neutral(const OtherFieldRule& rule, const Json& value) {
  if (rule.any_is_neutral || value.is_null()) return true;
  if (const bool* const neutral = std::get_if<bool>(&rule.neutral)) {
    const bool* const content = std::get_if<bool>(&value.value);
    return content != nullptr && *content == *neutral;
  }
  if (const double* const neutral = std::get_if<double>(&rule.neutral)) {
    const auto* const whole = std::get_if<std::int64_t>(&value.value);
    const auto* const content = std::get_if<double>(&value.value);
    return (whole != nullptr && static_cast<double>(*whole) == *neutral) ||
           (content != nullptr && *content == *neutral);
  }
  return false;
}

}  // namespace polystate::sampler
