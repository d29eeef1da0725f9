#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"

namespace polystate::sampler {

// The processors, a function each. They compute in float32 what transformers' classes of these
// names compute for one row without padding; a formula's source is transformers 5.23,
// generation/logits_process.py. Tokens must be in the vocabulary, numbers in the ranges of
// GenerationConfig.
using Processor = std::shared_ptr<const LogitsProcessor>;
using TokenBias = std::pair<std::vector<TokenId>, double>;

// Adds a bias to the last token of each sequence whose other tokens were the last to be generated.
// Of equal sequences the last one counts.
Processor sequence_bias(const std::vector<TokenBias>& biases);
// Forbids what would complete one of the sequences, other than an end token alone.
Processor bad_words(const std::vector<std::vector<TokenId>>& words,
                    const std::vector<TokenId>& end_tokens);

// Divides the scores of tokens that were there by the penalty, or multiplies negative ones.
Processor repetition_penalty(double penalty);
// The opposite for the tokens of the source, or of the prompt where there is no source.
Processor encoder_repetition_penalty(double penalty);

// Subtracts the penalty from the scores of tokens that were generated: times how often, or once.
// Their definition is that of OpenAI's interface and of vLLM, not transformers'.
Processor frequency_penalty(double penalty);
Processor presence_penalty(double penalty);

// Forbids what would repeat `size` tokens of the row, or of the source or prompt.
Processor no_repeat_ngram(std::size_t size);
Processor encoder_no_repeat_ngram(std::size_t size);

// Forbids tokens: always, while the row has fewer than `length` tokens, or when it has as many.
Processor suppress(std::vector<TokenId> tokens);
Processor suppress_before(std::vector<TokenId> tokens, std::int64_t length);
Processor suppress_at(std::vector<TokenId> tokens, std::int64_t length);
// Forbids all but these tokens when the row has `length` tokens.
Processor force_at(std::vector<TokenId> tokens, std::int64_t length);

// Raises the scores of the end tokens by |score| (factor ^ (tokens past `start`) - 1).
Processor exponential_decay(std::vector<TokenId> end_tokens, std::int64_t start, double factor);

// NaN becomes 0, and infinities the largest numbers.
Processor remove_invalid_values();
// Turns scores into log-probabilities. kContract where there are none, as for those below.
Processor renormalize();

Processor temperature(double temperature);

// These forbid what is improbable, and leave at least the `keep` best tokens.

// All but the `count` best, and those equal to the last of them.
Processor top_k(std::size_t count, std::size_t keep);
// All but the best whose probabilities first add up to `mass`.
Processor top_p(double mass, std::size_t keep);
// What is less probable than `fraction` of the best.
Processor min_p(double fraction, std::size_t keep);
// All but the tokens whose information is nearest to the entropy, up to `mass`.
Processor typical_p(double mass, std::size_t keep);
// What is less probable than `epsilon`.
Processor epsilon_cutoff(double epsilon, std::size_t keep);
// What is less probable than both `epsilon` and sqrt(epsilon) e^-entropy.
Processor eta_cutoff(double epsilon, std::size_t keep);

}  // namespace polystate::sampler
