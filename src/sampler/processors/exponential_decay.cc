#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/processors/processors.h"

namespace polystate::sampler {
namespace {

class ExponentialDecay final : public LogitsProcessor {
 public:
  // Each of `end_tokens` is there once.
  ExponentialDecay(std::vector<TokenId> end_tokens, std::int64_t start, double factor)
      : end_tokens_(std::move(end_tokens)), start_(start), factor_(factor) {}

  Status process(const TokenContext& context, std::span<float> scores) const override {
    const std::int64_t past = std::ssize(context.tokens) - start_;
    if (past <= 0) return {};
    const auto raise = static_cast<float>(std::pow(factor_, static_cast<double>(past)) - 1.0);
    for (const TokenId token : end_tokens_) {
      if (std::isfinite(scores[token])) scores[token] += std::abs(scores[token]) * raise;
    }
    return {};
  }

 private:
  std::vector<TokenId> end_tokens_;
  std::int64_t start_;
  double factor_;
};

}  // namespace

Processor exponential_decay(std::vector<TokenId> end_tokens, std::int64_t start, double factor) {
  std::sort(end_tokens.begin(), end_tokens.end());
  end_tokens.erase(std::unique(end_tokens.begin(), end_tokens.end()), end_tokens.end());
  return std::make_shared<ExponentialDecay>(std::move(end_tokens), start, factor);
}

}  // namespace polystate::sampler
