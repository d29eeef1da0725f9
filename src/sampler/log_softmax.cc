#include "sampler/log_softmax.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "polystate/core/result.h"
#include "sampler/exponential.h"
#include "sampler/largest.h"
#include "sampler/score_block.h"

namespace polystate::sampler {
namespace {

// Scores that are looked at twice while they lie in the nearest cache, and whose powers are added
// in float32.
constexpr std::size_t kChunk = 32 * kBlock;

// The sum of e^(score - largest) of a chunk: as many sums side by side as a block has scores.
double exponential_sum(std::span<const float> chunk, float largest) {
  ScoreBlock sums{};
  for_each_block(chunk, [&](const float* block) {
    for (std::size_t i = 0; i < kBlock; ++i) sums[i] += exponential_term(block[i] - largest);
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

Error no_probability(const char* message) { return {ErrorCode::kContract, message}; }

void subtract(std::span<float> scores, const LogSum& sum) {
  for (float& score : scores) score = (score - sum.largest) - sum.rest;
}

}  // namespace

Result<LogSum> log_sum(std::span<const float> scores, InstructionSet set) {
  const auto sum_exponentials = vectorised<exponential_sum>(set);
  float largest = -kInfinity;  // so far
  double sum = 0.0;            // of e^(score - largest)
  for (std::size_t start = 0; start < scores.size(); start += kChunk) {
    const auto chunk = scores.subspan(start, std::min(kChunk, scores.size() - start));
    const float highest = largest_score(chunk, set);
    if (std::isnan(highest)) return no_probability("a token's score is NaN");
    if (highest == kInfinity) return no_probability("a token's score is infinite");
    if (highest > largest) {
      sum *= std::exp(static_cast<double>(largest) - static_cast<double>(highest));
      largest = highest;
    }
    if (largest > -kInfinity) sum += sum_exponentials(chunk, largest);
  }
  if (largest == -kInfinity)
    return no_probability("no token is left to choose: every score is -inf");
  return LogSum{largest, static_cast<float>(std::log(sum)), static_cast<float>(sum)};
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

Status log_softmax(std::span<float> scores, InstructionSet set) {
  const Result<LogSum> sum = log_sum(scores, set);
  if (!sum) return sum.error();
  vectorised<subtract>(set)(scores, *sum);
  return {};
}

}  // namespace polystate::sampler
