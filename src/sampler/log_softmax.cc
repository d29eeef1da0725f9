#include "sampler/log_softmax.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "polystate/core/result.h"
#include "sampler/exponential.h"
#include "sampler/largest.h"

namespace polystate::sampler {
namespace {

constexpr std::size_t kLanes = 16;  // sums side by side: fewer roundings each, and vectorised

// The sum of e^(score - largest).
double exponential_sum(std::span<const float> scores, float largest) {
  double sum = 0.0;
  std::size_t i = 0;
  for (; i + kBlock <= scores.size(); i += kBlock) {
    std::array<float, kLanes> lanes{};
    for (std::size_t j = i; j < i + kBlock; j += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane)
        lanes[lane] += exponential(scores[j + lane] - largest);
    }
    for (const float lane : lanes) sum += static_cast<double>(lane);
  }
  for (; i < scores.size(); ++i) sum += static_cast<double>(exponential(scores[i] - largest));
  return sum;
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

Status log_softmax(std::span<float> scores) {
  const Result<LogSum> sum = log_sum(scores);
  if (!sum) return sum.error();
  for (float& score : scores) score = (score - sum->largest) - sum->rest;
  return {};
}

}  // namespace polystate::sampler
