#include "sampler/processors/truncation.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "polystate/core/token.h"
#include "sampler/score_block.h"
#include "sampler/top_candidates.h"

namespace polystate::sampler {
std::vector<Candidate> remaining(std::span<const float> scores) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > -kInfinity) candidates.push_back({scores[i], static_cast<TokenId>(i)});
  }
  return candidates;
}

void keep_only(std::span<const Candidate> kept, std::span<float> scores) {
  std::vector<float> values;
  values.reserve(kept.size());
  for (const Candidate& candidate : kept) values.push_back(scores[candidate.token]);
  std::fill(scores.begin(), scores.end(), -kInfinity);
  for (std::size_t i = 0; i < kept.size(); ++i) scores[kept[i].token] = values[i];
}

void forbid_below(float threshold, std::span<float> scores) {
  for (float& score : scores) score = score < threshold ? -kInfinity : score;
}

}  // namespace polystate::sampler
