#include "sampler/largest.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "polystate/core/result.h"
#include "sampler/score_block.h"

namespace polystate::sampler {
namespace {

// The start of the first whole block that has `score`; of the rest where none has.
std::size_t find_block(std::span<const float> scores, float score) {
  std::size_t start = 0;
  for (; start + kBlock <= scores.size(); start += kBlock) {
    unsigned found = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      found |= static_cast<unsigned>(scores[start + i] == score);
    }
    if (found != 0) break;
  }
  return start;
}

// Without an early end, so that the loop is vectorised.
bool any_nan(std::span<const float> scores) {
  unsigned found = 0;
  for (const float score : scores) found |= static_cast<unsigned>(score != score);
  return found != 0;
}

float largest_of(std::span<const float> scores) {
  ScoreBlock largest{};  // of each block's first, second, ... score
  largest.fill(-kInfinity);
  unsigned unordered = 0;
  for_each_block(scores, [&](const float* block) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      largest[i] = block[i] > largest[i] ? block[i] : largest[i];
    }
    for (std::size_t i = 0; i < kBlock; ++i) {
      unordered |= static_cast<unsigned>(block[i] != block[i]);
    }
  });
  if (unordered != 0) return std::numeric_limits<float>::quiet_NaN();
  return *std::max_element(largest.begin(), largest.end());
}

}  // namespace

bool has_nan(std::span<const float> scores, InstructionSet set) {
  return vectorised<any_nan>(set)(scores);
}

float largest_score(std::span<const float> scores, InstructionSet set) {
  return vectorised<largest_of>(set)(scores);
}

Result<Largest> find_largest(std::span<const float> scores, InstructionSet set) {
  const float score = largest_score(scores, set);
  if (std::isnan(score)) return Error{ErrorCode::kContract, "a token's score is NaN"};
  if (score == -kInfinity) {
    return Error{ErrorCode::kContract, "no token is left to choose: every score is -inf"};
  }
  const std::size_t start = vectorised<find_block>(set)(scores, score);
  const auto block = scores.begin() + static_cast<std::ptrdiff_t>(start);
  const auto first = std::find(block, scores.end(), score);
  return Largest{score, static_cast<std::size_t>(first - scores.begin())};
}

}  // namespace polystate::sampler
