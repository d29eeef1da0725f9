#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "polystate/core/result.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/exponential.h"
#include "sampler/log_softmax.h"
#include "sampler/processors/processors.h"
#include "sampler/processors/truncation.h"
#include "sampler/top_candidates.h"

namespace polystate::sampler {
namespace {

// Whether a candidate comes after another one: the order of a heap with the best on top. Of equal
// ones transformers keeps what torch's sort happens to put last.
bool is_worse(const Candidate& one, const Candidate& other) {
  return one.score != other.score ? one.score < other.score : one.token > other.token;
}

class TopP final : public LogitsProcessor {
 public:
  TopP(double mass, std::size_t keep) : left_out_(static_cast<float>(1.0 - mass)), keep_(keep) {}

  // As transformers': from the least probable token on, those go whose probabilities in float32,
  // summed in double, stay within what is left out.
  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    const Result<LogSum> sum = log_sum(scores);
    if (!sum) return sum.error();
    const auto probability = [&](const Candidate& candidate) {
      return static_cast<double>(exponential(candidate.score - sum->largest) / sum->sum);
    };
    auto candidates = remaining(scores);
    double rest = 0.0;  // probability of those that are not kept so far
    for (const Candidate& candidate : candidates) rest += probability(candidate);
    std::make_heap(candidates.begin(), candidates.end(), is_worse);
    auto end = candidates.end();  // behind it, those that are kept
    while (end != candidates.begin()) {
      const bool enough = candidates.end() - end >= static_cast<std::ptrdiff_t>(keep_);
      if (enough && static_cast<float>(rest) <= left_out_) break;
      std::pop_heap(candidates.begin(), end, is_worse);
      --end;
      rest -= probability(*end);
    }
    keep_only({end, candidates.end()}, scores);
    return {};
  }

 private:
  float left_out_;  // the probability of what may go
  std::size_t keep_;
};

}  // namespace

Processor top_p(double mass, std::size_t keep) { return std::make_shared<TopP>(mass, keep); }

}  // namespace polystate::sampler
