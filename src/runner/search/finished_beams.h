#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "polystate/core/token.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"
#include "runner/search/token_reports.h"

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
    std::optional<FinishReason> end;  // why it has ended and may be kept; nothing: it has not
  };

  struct Place {
    ReportedSequence sequence;
    float score;
    std::optional<FinishReason> end;  // why the sequence ended; nothing: none has
  };

  // Keeps the best of those that are there and of a step's candidates, which have `length` tokens:
  // `sequence_of(i)`. One that has not ended may stand, as transformers has it, where none has.
  void merge(std::span<const Candidate> candidates, std::size_t length,
             const std::function<ReportedSequence(std::size_t)>& sequence_of);

  [[nodiscard]] bool is_empty() const;

  // Whether the search is to go on, when its best running sequence has `length` tokens and this
  // log-probability.
  [[nodiscard]] bool may_improve(std::size_t length, float log_probability) const;

  // The best `count`.
  std::vector<Place> take(std::size_t count);

 private:
  // log_probability / (length without the prompt) ^ length_penalty.
  [[nodiscard]] float score(float log_probability, std::size_t length) const;

  EarlyStopping early_stopping_;
  double length_penalty_;
  std::size_t prompt_length_;
  std::size_t max_length_;
  std::vector<Place> places_;  // best first
};

}  // namespace polystate
