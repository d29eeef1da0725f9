#include "runner/finished_beams.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"

namespace polystate {

FinishedBeams::FinishedBeams(const GenerationConfig& config, std::span<const TokenId> prompt,
                             std::int64_t max_length)
    : early_stopping_(config.early_stopping),
      length_penalty_(config.length_penalty),
      prompt_length_(prompt.size()),
      max_length_(static_cast<std::size_t>(max_length)),
      places_(static_cast<std::size_t>(config.num_beams),
              Place{{prompt.begin(), prompt.end()}, kNoScore, false}) {}

float FinishedBeams::score(float log_probability, std::size_t length) const {
  // The power is Python's, the quotient one of float32 tensors.
  const auto generated = static_cast<double>(length - prompt_length_);
  return log_probability / static_cast<float>(std::pow(generated, length_penalty_));
}

void FinishedBeams::add(std::vector<TokenId> tokens, float log_probability) {
  const float own = score(log_probability, tokens.size());
  const auto after = std::find_if(places_.begin(), places_.end(), [own](const Place& place) {
    return place.score < own || (place.score == own && !place.filled);
  });
  if (after == places_.end()) return;
  std::move_backward(after, std::prev(places_.end()), places_.end());
  *after = {std::move(tokens), own, true};
}

bool FinishedBeams::may_improve(std::size_t length, float log_probability) const {
  const bool full =
      std::all_of(places_.begin(), places_.end(), [](const Place& place) { return place.filled; });
  if (full && early_stopping_ == EarlyStopping::kFirst) return false;
  const bool longest = early_stopping_ == EarlyStopping::kNever && length_penalty_ > 0.0;
  const float best_possible = score(log_probability, longest ? max_length_ : length);
  return best_possible > (full ? places_.back().score : kNoScore);
}

std::vector<GeneratedSequence> FinishedBeams::take(std::size_t count) {
  std::vector<GeneratedSequence> results;
  results.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    results.push_back({std::move(places_[i].tokens), places_[i].score});
  }
  return results;
}

}  // namespace polystate
