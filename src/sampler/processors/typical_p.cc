#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>

#include "polystate/core/result.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/log_softmax.h"
#include "sampler/processors/processors.h"
#include "sampler/processors/truncation.h"
#include "sampler/top_candidates.h"

namespace polystate::sampler {
namespace {

// The order of a heap with the least typical distance on top.
bool is_farther(const Candidate& one, const Candidate& other) {
  return one.score != other.score ? one.score > other.score : one.token > other.token;
}

class TypicalP final : public LogitsProcessor {
 public:
  TypicalP(double mass, std::size_t keep) : mass_(mass), keep_(keep) {}

  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    const Result<LogSum> sum = log_sum(scores);
    if (!sum) return sum.error();
    const auto mean = static_cast<float>(entropy(scores, *sum));
    const auto logarithm = [&](const Candidate& candidate) {
      return (scores[candidate.token] - sum->largest) - sum->rest;
    };
    auto candidates = remaining(scores);
    for (Candidate& candidate : candidates)
      candidate.score = std::abs(-logarithm(candidate) - mean);  // the distance from typical
    std::make_heap(candidates.begin(), candidates.end(), is_farther);
    auto end = candidates.end();                               // behind it, those that are kept
    double kept = 0.0;                                         // probability of these
    float farthest = -std::numeric_limits<float>::infinity();  // where they reach the mass
    while (end != candidates.begin()) {
      const bool enough = candidates.end() - end >= static_cast<std::ptrdiff_t>(keep_);
      if (enough && kept >= mass_ && candidates.front().score > farthest) break;
      std::pop_heap(candidates.begin(), end, is_farther);
      --end;
      if (kept < mass_) farthest = end->score;
      kept += std::exp(static_cast<double>(logarithm(*end)));
    }
    keep_only({end, candidates.end()}, scores);
    return {};
  }

 private:
  double mass_;
  std::size_t keep_;
};

}  // namespace

Processor typical_p(double mass, std::size_t keep) {
  return std::make_shared<TypicalP>(mass, keep);
}

}  // namespace polystate::sampler
