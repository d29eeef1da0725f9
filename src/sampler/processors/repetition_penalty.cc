#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/processors/input_tokens.h"
#include "sampler/processors/processors.h"

namespace polystate::sampler {
namespace {

// Reads all scores before it writes any, so that a token that is there twice counts once. A token
// that is not in the vocabulary has no score.
void penalize(std::span<const TokenId> tokens, float penalty, std::span<float> scores) {
  std::vector<float> penalized;
  penalized.reserve(tokens.size());
  for (const TokenId token : tokens) {
    const float score = token < scores.size() ? scores[token] : 0.0F;
    penalized.push_back(score < 0.0F ? score * penalty : score / penalty);
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < scores.size()) scores[tokens[i]] = penalized[i];
  }
}

class RepetitionPenalty final : public LogitsProcessor {
 public:
  explicit RepetitionPenalty(float penalty) : penalty_(penalty) {}
  Status process(const TokenContext& context, std::span<float> scores) const override {
    penalize(context.tokens, penalty_, scores);
    return {};
  }

 private:
  float penalty_;
};

class EncoderRepetitionPenalty final : public LogitsProcessor {
 public:
  explicit EncoderRepetitionPenalty(float penalty) : penalty_(penalty) {}
  Status process(const TokenContext& context, std::span<float> scores) const override {
    penalize(input_tokens(context), penalty_, scores);
    return {};
  }

 private:
  float penalty_;
};

}  // namespace

Processor repetition_penalty(double penalty) {
  return std::make_shared<RepetitionPenalty>(static_cast<float>(penalty));
}

Processor encoder_repetition_penalty(double penalty) {
  return std::make_shared<EncoderRepetitionPenalty>(static_cast<float>(1.0 / penalty));
}

}  // namespace polystate::sampler
