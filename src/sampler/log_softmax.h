#pragma once

#include <span>

#include "core/instruction_set.h"
#include "polystate/core/result.h"

namespace polystate::sampler {

// The logarithm of the sum of e^score, as what is added: torch subtracts one after the other from
// a score, and so keeps the digits of small differences.
struct LogSum {
  float largest;  // of the scores
  float rest;     // log(sum of e^(score - largest))
  float sum;      // that sum
};

// Both give the same results on each instruction set.

// kContract when a score is NaN or +inf, or all are -inf.
Result<LogSum> log_sum(std::span<const float> scores, InstructionSet set = best_instruction_set());

// Turns logits into log-probabilities. Errors as above, which leave the scores.
Status log_softmax(std::span<float> scores, InstructionSet set = best_instruction_set());

// The entropy of the tokens' probabilities, in nats.
double entropy(std::span<const float> scores, const LogSum& sum);

}  // namespace polystate::sampler
