#pragma once

#include <span>
#include <vector>

#include "sampler/top_candidates.h"

namespace polystate::sampler {

// The tokens that are not forbidden yet, which need not be many.
std::vector<Candidate> remaining(std::span<const float> scores);

// Forbids all tokens but these, of which the candidates' own scores count for nothing.
void keep_only(std::span<const Candidate> kept, std::span<float> scores);

// Forbids the tokens of scores below a threshold.
void forbid_below(float threshold, std::span<float> scores);

}  // namespace polystate::sampler
