#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "polystate/core/result.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/largest.h"
#include "sampler/processors/processors.h"
#include "sampler/processors/truncation.h"
#include "sampler/top_candidates.h"

namespace polystate::sampler {
namespace {

class TopK final : public LogitsProcessor {
 public:
  explicit TopK(std::size_t count) : count_(count) {}

  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    if (const auto largest = find_largest(scores); !largest) return largest.error();
    forbid_below(nth_largest(scores, count_), scores);
    return {};
  }

 private:
  std::size_t count_;
};

}  // namespace

Processor top_k(std::size_t count, std::size_t keep) {
  return std::make_shared<TopK>(std::max(count, keep));
}

}  // namespace polystate::sampler
