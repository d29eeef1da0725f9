// Processors that forbid or force certain tokens at certain lengths.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/processors/processors.h"
#include "sampler/score_block.h"

namespace polystate::sampler {
namespace {

constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max();

// Forbids tokens while the row's length is from `first` to `last`.
class Suppress final : public LogitsProcessor {
 public:
  Suppress(std::vector<TokenId> tokens, std::int64_t first, std::int64_t last)
      : tokens_(std::move(tokens)), first_(first), last_(last) {}

  Status process(const TokenContext& context, std::span<float> scores) const override {
    const std::int64_t length = std::ssize(context.tokens);
    if (length < first_ || length > last_) return {};
    for (const TokenId token : tokens_) scores[token] = -kInfinity;
    return {};
  }

 private:
  std::vector<TokenId> tokens_;
  std::int64_t first_;
  std::int64_t last_;
};

class Force final : public LogitsProcessor {
 public:
  Force(std::vector<TokenId> tokens, std::int64_t length)
      : tokens_(std::move(tokens)), length_(length) {}

  Status process(const TokenContext& context, std::span<float> scores) const override {
    if (std::ssize(context.tokens) != length_) return {};
    std::fill(scores.begin(), scores.end(), -kInfinity);
    for (const TokenId token : tokens_) scores[token] = 0.0F;
    return {};
  }

 private:
  std::vector<TokenId> tokens_;
  std::int64_t length_;
};

}  // namespace

Processor suppress(std::vector<TokenId> tokens) {
  return std::make_shared<Suppress>(std::move(tokens), 0, kEndless);
}

Processor suppress_before(std::vector<TokenId> tokens, std::int64_t length) {
  return std::make_shared<Suppress>(std::move(tokens), 0, length - 1);
}

Processor suppress_at(std::vector<TokenId> tokens, std::int64_t length) {
  return std::make_shared<Suppress>(std::move(tokens), length, length);
}

Processor force_at(std::vector<TokenId> tokens, std::int64_t length) {
  return std::make_shared<Force>(std::move(tokens), length);
}

}  // namespace polystate::sampler
