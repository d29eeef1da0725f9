#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/stopping_criterion.h"
#include "runner/search/beam_candidates.h"
#include "runner/search/finished_beams.h"
#include "runner/search/row_processors.h"
#include "runner/search/search.h"
#include "runner/search/token_reports.h"

namespace polystate {

// Beam search of one input, as transformers' `_beam_search` (5.23) of a batch of one: the same
// tokens and scores. With do_sample the candidates of a step are drawn instead of the best.
class BeamSearch final : public Search {
 public:
  BeamSearch(const SearchContext& context, RowProcessors processors);

  [[nodiscard]] std::span<const Continuation> next() const override { return next_; }
  Status advance(std::span<float> logits) override;
  void end_with_next() override;
  [[nodiscard]] std::size_t most_rows() const override { return next_.empty() ? 0 : beam_count_; }
  [[nodiscard]] std::span<const TokenId> tokens_of(std::size_t row) const override {
    return beams_[row].ids;
  }
  [[nodiscard]] std::span<const TokenId> tokens() const override { return beams_.front().ids; }
  std::vector<GeneratedSequence> take_results() override;

 private:
  // Makes the logits of every row log-probabilities, and runs the processors on them.
  Status process_rows(std::span<float> logits);
  [[nodiscard]] std::vector<BeamCandidate> choose(std::span<const float> scores) const;
  // A candidate, and why it ends its sequence, if it does.
  struct Extended {
    BeamCandidate candidate;
    std::optional<FinishReason> end;
  };
  // Errors as end_of.
  [[nodiscard]] Result<std::vector<Extended>> extend(
      std::span<const BeamCandidate> candidates) const;
  // Offers the candidates to finished_; those among the first beams that end may stay.
  void finish(std::span<const Extended> candidates);
  // Makes the best candidates that do not end the running beams.
  void keep_running(std::span<const Extended> candidates);
  // The row of the present step that a candidate goes on from.
  [[nodiscard]] std::size_t row_of(const BeamCandidate& candidate) const {
    return next_.size() < beam_count_ ? 0 : candidate.beam;
  }
  [[nodiscard]] ReportedSequence sequence_of(const BeamCandidate& candidate) const;

  SearchContext context_;
  std::vector<RowProcessors> rows_;  // of next_
  std::size_t beam_count_;
  TokenReporter reporter_;
  std::vector<ReportedSequence> beams_;   // of equal length
  std::vector<float> log_probabilities_;  // of the beams
  std::vector<Continuation> next_;        // one row at first, then one for each beam
  FinishedBeams finished_;
};

}  // namespace polystate
