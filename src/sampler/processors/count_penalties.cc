// Processors that subtract from the scores of tokens, by how often they were generated.

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/processors/processors.h"

namespace polystate::sampler {
namespace {

// The generated tokens, in order of their ids: equal ones are side by side.
std::vector<TokenId> sorted_generated(const TokenContext& context) {
  const std::span<const TokenId> generated = context.tokens.subspan(context.prompt_length);
  std::vector<TokenId> sorted(generated.begin(), generated.end());
  std::ranges::sort(sorted);
  return sorted;
}

class FrequencyPenalty final : public LogitsProcessor {
 public:
  explicit FrequencyPenalty(float penalty) : penalty_(penalty) {}
  // A product for each token, not a difference for each time: it rounds once.
  Status process(const TokenContext& context, std::span<float> scores) const override {
    const std::vector<TokenId> tokens = sorted_generated(context);
    for (auto first = tokens.begin(); first != tokens.end();) {
      const auto next = std::upper_bound(first, tokens.end(), *first);
      if (*first < scores.size()) scores[*first] -= penalty_ * static_cast<float>(next - first);
      first = next;
    }
    return {};
  }

 private:
  float penalty_;
};

class PresencePenalty final : public LogitsProcessor {
 public:
  explicit PresencePenalty(float penalty) : penalty_(penalty) {}
  Status process(const TokenContext& context, std::span<float> scores) const override {
    std::vector<TokenId> tokens = sorted_generated(context);
    const auto repeated = std::ranges::unique(tokens);
    tokens.erase(repeated.begin(), repeated.end());
    for (const TokenId token : tokens) {
      if (token < scores.size()) scores[token] -= penalty_;
    }
    return {};
  }

 private:
  float penalty_;
};

}  // namespace

Processor frequency_penalty(double penalty) {
  return std::make_shared<FrequencyPenalty>(static_cast<float>(penalty));
}

Processor presence_penalty(double penalty) {
  return std::make_shared<PresencePenalty>(static_cast<float>(penalty));
}

}  // namespace polystate::sampler
