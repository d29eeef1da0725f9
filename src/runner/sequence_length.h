#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/sampler/generation_config.h"

namespace polystate {

// The most tokens of a sequence whose prompt has `prompt_length`, as transformers'
// `_prepare_generated_length`: max_new_tokens goes before max_length; without both it is
// `capacity`, what the model has room for. kContract when it or max_cache_len is more than that,
// saying how many tokens are too many, or when it leaves no token to generate, unless
// max_new_tokens is 0. A given length of a context that slides may be past `capacity`, and so may
// its prompt, except where log-probabilities are asked for of all of it.
Result<std::int64_t> sequence_length(const GenerationConfig& config, std::size_t prompt_length,
                                     std::int64_t capacity);

// Forgets max_cache_len, and takes back lengths of an artifact's own configuration that are past
// `capacity`, with a sentence on each to `warnings`.
void fit_lengths(GenerationConfig& config, std::int64_t capacity,
                 std::vector<std::string>& warnings);

}  // namespace polystate
