#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"

namespace polystate {

// Where a random choice is made. Equal places make equal choices, whatever ran beside them.
struct SamplePlace {
  std::uint64_t seed;
  std::uint64_t sequence;  // number of the sequence among all of one generation
  std::uint64_t step;      // number of the token in its sequence
};

// Chooses the next token of a row from its processed scores. Immutable, as a LogitsProcessor is.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // `scores` [vocabulary] are logits, which the sampler may overwrite. kContract when no token is
  // left to choose: all are -inf, or one is NaN.
  virtual Result<TokenId> sample(std::span<float> scores, const SamplePlace& place) const = 0;
};

// The most probable token (of equals the first), or with do_sample one drawn by probability.
std::shared_ptr<const Sampler> make_sampler(const GenerationConfig& config);

}  // namespace polystate
