#include "runner/search/finished_beams.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "runner/search/token_reports.h"
#include "sampler/top_candidates.h"

namespace polystate {

FinishedBeams::FinishedBeams(const GenerationConfig& config, std::span<const TokenId> prompt,
                             std::int64_t max_length)
    : early_stopping_(config.early_stopping),
      length_penalty_(config.length_penalty),
      prompt_length_(prompt.size()),
      max_length_(static_cast<std::size_t>(max_length)),
      places_(static_cast<std::size_t>(config.num_beams),
              Place{{.ids = {prompt.begin(), prompt.end()}, .reports = {}}, kNoScore, {}}) {}

float FinishedBeams::score(float log_probability, std::size_t length) const {
  // The power is Python's, the quotient one of float32 tensors.
  const auto generated = static_cast<double>(length - prompt_length_);
  return log_probability / static_cast<float>(std::pow(generated, length_penalty_));
}

void FinishedBeams::merge(std::span<const Candidate> candidates, std::size_t length,
                          const std::function<ReportedSequence(std::size_t)>& sequence_of) {
  std::vector<float> scores;
  scores.reserve(places_.size() + candidates.size());
  for (const Place& place : places_) scores.push_back(place.score);
  for (const Candidate& candidate : candidates) {
    const float own = score(candidate.log_probability, length);
    scores.push_back(candidate.end ? own : own + kNoScore);
  }
  std::vector<Place> best;
  best.reserve(places_.size());
  for (const std::size_t chosen : sampler::top_places(scores, places_.size())) {
    if (chosen < places_.size()) {
      best.push_back(std::move(places_[chosen]));
    } else {
      const std::size_t candidate = chosen - places_.size();
      best.push_back({sequence_of(candidate), scores[chosen], candidates[candidate].end});
    }
  }
  places_ = std::move(best);
}

bool FinishedBeams::is_empty() const {
  return std::ranges::none_of(places_, [](const Place& place) { return place.end.has_value(); });
}

bool FinishedBeams::may_improve(std::size_t length, float log_probability) const {
  const bool full =
      std::ranges::all_of(places_, [](const Place& place) { return place.end.has_value(); });
  if (full && early_stopping_ == EarlyStopping::kFirst) return false;
  const bool longest = early_stopping_ == EarlyStopping::kNever && length_penalty_ > 0.0;
  const float best_possible = score(log_probability, longest ? max_length_ : length);
  return best_possible > (full ? places_.back().score : kNoScore);
}

std::vector<FinishedBeams::Place> FinishedBeams::take(std::size_t count) {
  places_.resize(count);
  return std::move(places_);
}

}  // namespace polystate
