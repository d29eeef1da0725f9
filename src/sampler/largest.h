#pragma once

#include <cstddef>
#include <span>

#include "polystate/core/result.h"

namespace polystate::sampler {

// The largest score, and the first token that has it.
struct Largest {
  float score;
  std::size_t token;
};

// The largest score; NaN where one is, -inf of none.
float largest_score(std::span<const float> scores);

// kContract when a score is NaN, or all are -inf.
Result<Largest> find_largest(std::span<const float> scores);

}  // namespace polystate::sampler
