#include <algorithm>
#include <cmath>
#include <cstddef>
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

// Whether a candidate comes after another one: the order of a heap with the best on top.
bool is_worse(const Candidate& one, const Candidate& other) {
  return one.score != other.score ? one.score < other.score : one.token > other.token;
}

class TopP final : public LogitsProcessor {
 public:
  TopP(double mass, std::size_t keep) : mass_(mass), keep_(keep) {}

  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    const Result<LogSum> sum = log_sum(scores);
    if (!sum) return sum.error();
    auto candidates = remaining(scores);
    std::make_heap(candidates.begin(), candidates.end(), is_worse);
    auto end = candidates.end();  // behind it, those that are kept
    double better = 0.0;          // probability of these
    while (end != candidates.begin()) {
      if (candidates.end() - end >= static_cast<std::ptrdiff_t>(keep_) && better >= mass_) break;
      std::pop_heap(candidates.begin(), end, is_worse);
      --end;
      better += std::exp(static_cast<double>((end->score - sum->largest) - sum->rest));
    }
    keep_only({end, candidates.end()}, scores);
    return {};
  }

 private:
  double mass_;
  std::size_t keep_;
};

}  // namespace

Processor top_p(double mass, std::size_t keep) { return std::make_shared<TopP>(mass, keep); }

}  // namespace polystate::sampler
