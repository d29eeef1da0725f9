#include "polystate/sampler/sampler.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "sampler/exponential.h"
#include "sampler/largest.h"
#include "sampler/random.h"
#include "sampler/score_block.h"

namespace polystate {
namespace {

using sampler::kBlock;

class GreedySampler final : public Sampler {
 public:
  Result<TokenId> sample(std::span<float> scores, const SamplePlace& /*place*/) const override {
    const Result<sampler::Largest> largest = sampler::find_largest(scores);
    if (!largest) return largest.error();
    return static_cast<TokenId>(largest->token);
  }
};

// Turns scores into weights, e^(score - largest), and returns the sum of each block's.
std::vector<double> block_weights(std::span<float> scores, float largest) {
  std::vector<double> sums;
  sums.reserve(scores.size() / kBlock + 1);
  for (std::size_t start = 0; start < scores.size(); start += kBlock) {
    const auto weights = sampler::exponentials(sampler::score_block(scores, start), largest);
    std::copy_n(weights.begin(), std::min(kBlock, scores.size() - start),
                scores.begin() + static_cast<std::ptrdiff_t>(start));
    double sum = 0.0;
    for (const float weight : weights) sum += static_cast<double>(weight);
    sums.push_back(sum);
  }
  return sums;
}

// The first token at which the sum of weights passes `target`; the last with a weight where
// rounding leaves none.
std::size_t token_at(std::span<const float> weights, std::span<const double> sums, double target) {
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (sums[i] <= 0.0) continue;
    if (target >= sums[i] && i + 1 < sums.size()) {
      target -= sums[i];
      chosen = i * kBlock + kBlock - 1;
      continue;
    }
    const std::size_t end = std::min(weights.size(), (i + 1) * kBlock);
    for (std::size_t token = i * kBlock; token < end; ++token) {
      if (weights[token] <= 0.0F) continue;
      chosen = token;
      target -= static_cast<double>(weights[token]);
      if (target < 0.0) return token;
    }
  }
  while (weights[chosen] <= 0.0F) --chosen;
  return chosen;
}

class MultinomialSampler final : public Sampler {
 public:
  Result<TokenId> sample(std::span<float> scores, const SamplePlace& place) const override {
    const Result<sampler::Largest> largest = sampler::find_largest(scores);
    if (!largest) return largest.error();
    if (largest->score == sampler::kInfinity)
      return Error{ErrorCode::kContract, "a token's score is infinite"};
    const std::vector<double> sums = block_weights(scores, largest->score);
    double total = 0.0;
    for (const double sum : sums) total += sum;
    return static_cast<TokenId>(token_at(scores, sums, sampler::uniform(place) * total));
  }
};

}  // namespace

std::shared_ptr<const Sampler> make_sampler(const GenerationConfig& config) {
  if (config.do_sample) return std::make_shared<MultinomialSampler>();
  return std::make_shared<GreedySampler>();
}

}  // namespace polystate
