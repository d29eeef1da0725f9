// Processors that look for sequences of tokens at the end of a row.

#include <algorithm>
#include <limits>
#include <map>
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

class SequenceBias final : public LogitsProcessor {
 public:
  explicit SequenceBias(const std::map<std::vector<TokenId>, float>& biases) {
    for (const auto& [tokens, bias] : biases) {
      biases_.push_back({{tokens.begin(), tokens.end() - 1}, tokens.back(), bias});
    }
  }

  Status process(const TokenContext& context, std::span<float> scores) const override {
    for (const Bias& bias : biases_) {
      const auto& before = bias.before;
      if (before.size() > context.tokens.size()) continue;
      if (std::ranges::equal(before, context.tokens.last(before.size())))
        scores[bias.token] += bias.bias;
    }
    return {};
  }

 private:
  struct Bias {
    std::vector<TokenId> before;  // must be the row's last tokens
    TokenId token;
    float bias;
  };
  std::vector<Bias> biases_;
};

}  // namespace

Processor sequence_bias(const std::vector<TokenBias>& biases) {
  std::map<std::vector<TokenId>, float> unique;
  for (const auto& [tokens, bias] : biases) unique[tokens] = static_cast<float>(bias);
  return std::make_shared<SequenceBias>(unique);
}

Processor bad_words(const std::vector<std::vector<TokenId>>& words,
                    const std::vector<TokenId>& end_tokens) {
  std::map<std::vector<TokenId>, float> forbidden;
  for (const std::vector<TokenId>& word : words) {
    const bool ends = word.size() == 1 &&
                      std::find(end_tokens.begin(), end_tokens.end(), word[0]) != end_tokens.end();
    if (!ends) forbidden[word] = -std::numeric_limits<float>::infinity();
  }
  return std::make_shared<SequenceBias>(forbidden);
}

}  // namespace polystate::sampler
