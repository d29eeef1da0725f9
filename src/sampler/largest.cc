#include "sampler/largest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "polystate/core/result.h"
#include "sampler/score_block.h"
#include "sampler/vectorised.h"

namespace polystate::sampler {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kLanes = 16;  // maxima side by side, which are vectorised

// The largest of some scores, and where the first block that has it starts.
struct LargestBlock {
  float score = -kInfinity;
  std::size_t start = 0;
};

// The largest score of a block; NaN where one is.
inline float largest_of(const ScoreBlock& block) {
  std::array<float, kLanes> largest{};
  std::array<unsigned, kLanes> unordered{};
  largest.fill(-kInfinity);
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float score = block[i + lane];
      largest[lane] = score > largest[lane] ? score : largest[lane];
      unordered[lane] |= static_cast<unsigned>(score != score);
    }
  }
  unsigned any_unordered = 0;
  float found = -kInfinity;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    any_unordered |= unordered[lane];
    found = largest[lane] > found ? largest[lane] : found;
  }
  return any_unordered == 0 ? found : std::numeric_limits<float>::quiet_NaN();
}

// The score is NaN where one is.
POLYSTATE_VECTORISED LargestBlock find_largest_block(std::span<const float> scores) {
  LargestBlock found;
  for (std::size_t start = 0; start < scores.size(); start += kBlock) {
    const float score = largest_of(score_block(scores, start));
    if (!(score <= found.score)) found = {score, start};
    if (score != score) break;
  }
  return found;
}

}  // namespace

Result<Largest> find_largest(std::span<const float> scores) {
  const LargestBlock block = find_largest_block(scores);
  if (std::isnan(block.score)) return Error{ErrorCode::kContract, "a token's score is NaN"};
  if (block.score == -kInfinity) {
    return Error{ErrorCode::kContract, "no token is left to choose: every score is -inf"};
  }
  const auto first = std::find(scores.begin() + static_cast<std::ptrdiff_t>(block.start),
                               scores.end(), block.score);
  return Largest{block.score, static_cast<std::size_t>(first - scores.begin())};
}

}  // namespace polystate::sampler
