#include "sampler/log_softmax.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>

#include "core/vectorised.h"
#include "polystate/core/result.h"
#include "sampler/exponential.h"
#include "sampler/largest.h"
#include "sampler/score_block.h"

namespace polystate::sampler {
namespace {

// The sum of e^(score - largest): as many sums side by side as a block has scores.
POLYSTATE_VECTORISED double exponential_sum(std::span<const float> scores, float largest) {
  std::array<double, kBlock> sums{};
  for (std::size_t start = 0; start < scores.size(); start += kBlock) {
    const ScoreBlock powers = exponentials(score_block(scores, start), largest);
    for (std::size_t i = 0; i < kBlock; ++i) sums[i] += static_cast<double>(powers[i]);
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

POLYSTATE_VECTORISED void subtract(std::span<float> scores, const LogSum& sum) {
  for (float& score : scores) score = (score - sum.largest) - sum.rest;
}

}  // namespace

Result<LogSum> log_sum(std::span<const float> scores) {
  const Result<Largest> largest = find_largest(scores);
  if (!largest) return largest.error();
  if (largest->score == std::numeric_limits<float>::infinity())
    return Error{ErrorCode::kContract, "a token's score is infinite"};
  const double sum = exponential_sum(scores, largest->score);
  return LogSum{largest->score, static_cast<float>(std::log(sum))};
}

double entropy(std::span<const float> scores, const LogSum& sum) {
  // -sum of p log(p), where log(p) = (score - largest) - rest, and the p add up to 1.
  double weighted = 0.0;
  for (std::size_t start = 0; start < scores.size(); start += kBlock) {
    const ScoreBlock block = score_block(scores, start);
    const ScoreBlock powers = exponentials(block, sum.largest);
    for (std::size_t i = 0; i < kBlock; ++i) {
      if (powers[i] > 0.0F) weighted += static_cast<double>(powers[i] * (block[i] - sum.largest));
    }
  }
  const auto rest = static_cast<double>(sum.rest);
  return rest - weighted / std::exp(rest);
}

Status log_softmax(std::span<float> scores) {
  const Result<LogSum> sum = log_sum(scores);
  if (!sum) return sum.error();
  subtract(scores, *sum);
  return {};
}

}  // namespace polystate::sampler
