#include "runner/sequence_length.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/sampler/generation_config.h"

namespace polystate {
namespace {

// "max_new_tokens is 300", with what else counts; one of the two is given.
std::string limit_label(const GenerationConfig& config, std::int64_t prompt_length) {
  if (config.max_new_tokens) {
    return "max_new_tokens is " + std::to_string(*config.max_new_tokens) + " after a prompt of " +
           std::to_string(prompt_length);
  }
  return "max_length is " + std::to_string(config.max_length.value_or(0));
}

bool has_length(const GenerationConfig& config) {
  return config.max_new_tokens.has_value() || config.max_length.has_value();
}

std::string too_many(std::int64_t tokens) {
  return std::to_string(tokens) + (tokens == 1 ? " token" : " tokens") + " too many";
}

}  // namespace

Result<std::int64_t> sequence_length(const GenerationConfig& config, std::size_t prompt_length,
                                     std::int64_t capacity) {
  const auto prompt = static_cast<std::int64_t>(prompt_length);
  const std::int64_t least = config.max_new_tokens == 0 ? 0 : 1;  // generated tokens
  const bool slides = config.context == ContextPolicy::kSlide && has_length(config);
  if (prompt + least > capacity && (!slides || config.prompt_logprobs)) {
    return Error{ErrorCode::kContract,
                 "the prompt has " + std::to_string(prompt) + " tokens; the model has room for " +
                     std::to_string(capacity) + ", generated ones included: at least " +
                     too_many(prompt + least - capacity)};
  }
  if (config.max_cache_len && *config.max_cache_len > capacity) {
    return Error{ErrorCode::kContract, "max_cache_len is " + std::to_string(*config.max_cache_len) +
                                           "; the caches of the artifact have " +
                                           std::to_string(capacity) + " positions"};
  }
  if (!has_length(config)) return capacity;
  // Both have 32 bits.
  const std::int64_t length =
      config.max_new_tokens ? *config.max_new_tokens + prompt : config.max_length.value_or(0);
  if (length > capacity && !slides) {
    return Error{ErrorCode::kContract,
                 limit_label(config, prompt) + "; the model has room for sequences of " +
                     std::to_string(capacity) + " tokens: " + too_many(length - capacity)};
  }
  if (length < prompt + least) {
    return Error{ErrorCode::kContract, limit_label(config, prompt) + "; the prompt of " +
                                           std::to_string(prompt) + " leaves no token to generate"};
  }
  return length;
}

void fit_lengths(GenerationConfig& config, std::int64_t capacity,
                 std::vector<std::string>& warnings) {
  config.max_cache_len.reset();
  const std::string room = "the model has room for sequences of " + std::to_string(capacity);
  if (config.max_length && *config.max_length > capacity) {
    warnings.push_back("generation_config.json: max_length is " +
                       std::to_string(*config.max_length) + " and becomes " +
                       std::to_string(capacity) + ": " + room + " tokens");
    config.max_length = capacity;
  }
  if (config.max_new_tokens && *config.max_new_tokens >= capacity) {
    warnings.push_back("generation_config.json: max_new_tokens is " +
                       std::to_string(*config.max_new_tokens) + " and becomes max_length " +
                       std::to_string(capacity) + ": " + room + " tokens");
    config.max_new_tokens.reset();
    config.max_length = capacity;
  }
}

}  // namespace polystate
