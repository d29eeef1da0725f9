#include "sampler/largest.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "polystate/core/result.h"
#include "sampler/score_block.h"

namespace polystate::sampler {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::size_t kLanes = 16;  // maxima side by side, which are vectorised

// The largest score; NaN where one is.
float block_largest(const ScoreBlock& block) {
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
  for (const unsigned lane : unordered) {
    if (lane != 0) return std::numeric_limits<float>::quiet_NaN();
  }
  return *std::max_element(largest.begin(), largest.end());
}

}  // namespace

Result<Largest> find_largest(std::span<const float> scores) {
  float largest = -kInfinity;
  std::size_t block = 0;  // where the first one that has it starts
  for (std::size_t start = 0; start < scores.size(); start += kBlock) {
    const float score = block_largest(score_block(scores, start));
    if (std::isnan(score)) return Error{ErrorCode::kContract, "a token's score is NaN"};
    if (score > largest) {
      largest = score;
      block = start;
    }
  }
  if (largest == -kInfinity) {
    return Error{ErrorCode::kContract, "no token is left to choose: every score is -inf"};
  }
  const auto first =
      std::find(scores.begin() + static_cast<std::ptrdiff_t>(block), scores.end(), largest);
  return Largest{largest, static_cast<std::size_t>(first - scores.begin())};
}

}  // namespace polystate::sampler
