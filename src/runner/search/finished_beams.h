#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"

namespace polystate {

// The score of what is not there, and the penalty of what may not be chosen (transformers' -1e9).
inline constexpr float kNoScore = -1.0e9F;

// The best sequences that a beam search has finished, as many as it has beams: `_update_finished_
// beams` and `_check_early_stop_heuristic` of transformers, for one input.
class FinishedBeams {
 public:
  // `prompt` stands in the places that are never filled.
  FinishedBeams(const GenerationConfig& config, std::span<const TokenId> prompt,
                std::int64_t max_length);

  // A sequence of the present step.
  struct Candidate {
    float log_probability;
    bool has_ended;  // and may be kept
  };

  // Keeps the best of those that are there and of a step's candidates, which have `length` tokens:
  // `tokens_of(i)`. One that has not ended may stand, as transformers has it, where none has.
  void merge(std::span<const Candidate> candidates, std::size_t length,
             const std::function<std::vector<TokenId>(std::size_t)>& tokens_of);

  [[nodiscard]] bool is_empty() const;

  // Whether the search is to go on, when its best running sequence has `length` tokens and this
  // log-probability.
  [[nodiscard]] bool may_improve(std::size_t length, float log_probability) const;

  // The best `count`.
  std::vector<GeneratedSequence> take(std::size_t count);

 private:
  struct Place {
    std::vector<TokenId> tokens;
    float score;
    bool filled;  // with a sequence that ended
  };

  // log_probability / (length without the prompt) ^ length_penalty.
  [[nodiscard]] float score(float log_probability, std::size_t length) const;

  EarlyStopping early_stopping_;
  double length_penalty_;
  std::size_t prompt_length_;
  std::size_t max_length_;
  std::vector<Place> places_;  // best first
};

}  // namespace polystate
