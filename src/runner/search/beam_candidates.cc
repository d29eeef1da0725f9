#include "runner/search/beam_candidates.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/sampler/sampler.h"
#include "sampler/random.h"
#include "sampler/top_candidates.h"

namespace polystate {
namespace {

// A candidate, and what it is chosen by.
struct Drawn {
  BeamCandidate candidate;
  double key;
};

// -log(-log(u)) of a uniform u: the largest of log-probability + this is a draw by probability.
double gumbel_noise(const SamplePlace& place, std::uint64_t draw) {
  const double uniform = sampler::uniform(place, draw) + 0x1p-54;  // not 0
  return -std::log(-std::log(uniform));
}

}  // namespace

std::vector<BeamCandidate> best_candidates(const BeamScores& scores, std::size_t count) {
  std::vector<BeamCandidate> candidates;
  std::vector<sampler::Candidate> best;
  for (std::size_t beam = 0; beam < scores.beams.size(); ++beam) {
    if (beam < scores.rows) best = sampler::top_candidates(scores.row_of(beam), count);
    for (const sampler::Candidate& each : best) {
      candidates.push_back({beam, each.token, each.score + scores.beams[beam]});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const BeamCandidate& left, const BeamCandidate& right) {
                     return left.log_probability > right.log_probability;
                   });
  candidates.resize(std::min(count, candidates.size()));
  return candidates;
}

std::vector<BeamCandidate> best_candidates_as_torch(const BeamScores& scores, std::size_t count) {
  const std::size_t vocabulary = scores.vocabulary();
  std::vector<float> log_probabilities;
  log_probabilities.reserve(scores.beams.size() * vocabulary);
  for (std::size_t beam = 0; beam < scores.beams.size(); ++beam) {
    for (const float score : scores.row_of(beam))
      log_probabilities.push_back(score + scores.beams[beam]);
  }
  std::vector<BeamCandidate> candidates;
  candidates.reserve(count);
  for (const std::size_t place : sampler::top_places(log_probabilities, count)) {
    candidates.push_back(
        {place / vocabulary, static_cast<TokenId>(place % vocabulary), log_probabilities[place]});
  }
  return candidates;
}

std::vector<BeamCandidate> drawn_candidates(const BeamScores& scores, std::size_t count,
                                            const SamplePlace& place) {
  std::vector<Drawn> drawn;
  drawn.reserve(scores.beams.size() * scores.vocabulary());
  for (std::size_t beam = 0; beam < scores.beams.size(); ++beam) {
    const std::span<const float> row = scores.row_of(beam);
    for (std::size_t token = 0; token < row.size(); ++token) {
      const float log_probability = row[token] + scores.beams[beam];
      drawn.push_back({{beam, static_cast<TokenId>(token), log_probability},
                       log_probability + gumbel_noise(place, drawn.size())});
    }
  }
  count = std::min(count, drawn.size());
  std::partial_sort(drawn.begin(), drawn.begin() + static_cast<std::ptrdiff_t>(count), drawn.end(),
                    [](const Drawn& left, const Drawn& right) { return left.key > right.key; });
  std::vector<BeamCandidate> candidates;
  candidates.reserve(count);
  for (std::size_t i = 0; i < count; ++i) candidates.push_back(drawn[i].candidate);
  return candidates;
}

}  // namespace polystate
