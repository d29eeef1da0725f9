#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/processors/input_tokens.h"
#include "sampler/processors/processors.h"

namespace polystate::sampler {
namespace {

// Forbids each token that follows, somewhere in `text`, the last size - 1 of `tokens`.
void forbid_repeated(std::span<const TokenId> tokens, std::span<const TokenId> text,
                     std::size_t size, std::span<float> scores) {
  const std::size_t before = size - 1;
  if (tokens.size() < before) return;
  const auto last = tokens.last(before);
  for (std::size_t i = before; i < text.size(); ++i) {
    if (text[i] < scores.size() && std::ranges::equal(text.subspan(i - before, before), last))
      scores[text[i]] = -std::numeric_limits<float>::infinity();
  }
}

class NoRepeatNgram final : public LogitsProcessor {
 public:
  explicit NoRepeatNgram(std::size_t size) : size_(size) {}
  Status process(const TokenContext& context, std::span<float> scores) const override {
    forbid_repeated(context.tokens, context.tokens, size_, scores);
    return {};
  }

 private:
  std::size_t size_;
};

class EncoderNoRepeatNgram final : public LogitsProcessor {
 public:
  explicit EncoderNoRepeatNgram(std::size_t size) : size_(size) {}
  Status process(const TokenContext& context, std::span<float> scores) const override {
    forbid_repeated(context.tokens, input_tokens(context), size_, scores);
    return {};
  }

 private:
  std::size_t size_;
};

}  // namespace

Processor no_repeat_ngram(std::size_t size) { return std::make_shared<NoRepeatNgram>(size); }

Processor encoder_no_repeat_ngram(std::size_t size) {
  return std::make_shared<EncoderNoRepeatNgram>(size);
}

}  // namespace polystate::sampler
