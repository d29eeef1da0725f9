#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/token.h"

namespace polystate {

// How a sequence that is longer than a model's positions goes on: see GenerationConfig::context.
struct ContextSlide {
  std::int64_t positions;  // of the model
  std::int64_t kept;       // first tokens that stay, at least 2 less than positions

  // What the model sees of a sequence that does not fit: the first `kept` tokens, and of the others
  // the last ones, as many as half of the other positions, rounded down.
  [[nodiscard]] std::vector<TokenId> seen(std::span<const TokenId> tokens) const;
};

}  // namespace polystate
