#pragma once

#include <span>

#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"

namespace polystate::sampler {

// What transformers calls the encoder's input: the source, or the prompt of a decoder alone.
inline std::span<const TokenId> input_tokens(const TokenContext& context) {
  return context.source.empty() ? context.tokens.first(context.prompt_length) : context.source;
}

}  // namespace polystate::sampler
