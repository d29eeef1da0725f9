#pragma once

#include <cstddef>
#include <span>

#include "core/instruction_set.h"
#include "polystate/core/result.h"

namespace polystate::sampler {

// The largest score, and the first token that has it.
struct Largest {
  float score;
  std::size_t token;
};

// All of these give the same results on each instruction set.

bool has_nan(std::span<const float> scores, InstructionSet set = best_instruction_set());

// The largest score; NaN where one is, -inf of none.
float largest_score(std::span<const float> scores, InstructionSet set = best_instruction_set());

// kContract when a score is NaN, or all are -inf.
Result<Largest> find_largest(std::span<const float> scores,
                             InstructionSet set = best_instruction_set());

}  // namespace polystate::sampler
