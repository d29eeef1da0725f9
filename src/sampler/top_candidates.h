#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/instruction_set.h"
#include "polystate/core/token.h"

namespace polystate::sampler {

// A token that may come next.
struct Candidate {
  float score;
  TokenId token;
};

// The `count` tokens of the largest scores (all, where there are fewer), best first, and of equal
// ones the lower token first, as torch.topk orders them. For a small `count`: one pass, and work
// for each score above those found so far. No score may be NaN. Equal on each instruction set.
std::vector<Candidate> top_candidates(std::span<const float> scores, std::size_t count,
                                      InstructionSet set = best_instruction_set());

// The places of the `count` largest scores, at most all of them: the largest first, and equal ones
// in the order that torch.topk gives them on a CPU, which follows from its algorithm. No score may
// be NaN.
std::vector<std::size_t> top_places(std::span<const float> scores, std::size_t count);

// The `count`th largest score, of any count from 1; the least where there are fewer.
float nth_largest(std::span<const float> scores, std::size_t count);

}  // namespace polystate::sampler
