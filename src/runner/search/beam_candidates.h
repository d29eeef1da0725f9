#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/sampler/sampler.h"

namespace polystate {

// A running beam with one token more.
struct BeamCandidate {
  std::size_t beam;
  TokenId token;
  float log_probability;  // of the whole sequence
};

// What candidates are chosen from.
struct BeamScores {
  std::span<const float> tokens;  // processed log-probabilities [rows, vocabulary]
  std::size_t rows;               // one, which all beams share, or one for each beam
  std::span<const float> beams;   // log-probabilities of the running beams

  [[nodiscard]] std::size_t vocabulary() const { return tokens.size() / rows; }
  [[nodiscard]] std::span<const float> row_of(std::size_t beam) const {
    return tokens.subspan(rows == 1 ? 0 : beam * vocabulary(), vocabulary());
  }
};

// The `count` most probable candidates (all, where there are fewer), best first; of equals the one
// of the earlier beam, then of the smaller token. No score may be NaN.
std::vector<BeamCandidate> best_candidates(const BeamScores& scores, std::size_t count);

// The same, with equals in the order that torch.topk gives them; `count` is at most all.
std::vector<BeamCandidate> best_candidates_as_torch(const BeamScores& scores, std::size_t count);

// `count` candidates drawn by probability without replacement, in the order of the draw: the
// largest of log-probability + Gumbel noise (Kool et al. 2019, arXiv:1903.06059), which is the
// distribution of torch.multinomial. No score may be NaN.
std::vector<BeamCandidate> drawn_candidates(const BeamScores& scores, std::size_t count,
                                            const SamplePlace& place);

}  // namespace polystate
