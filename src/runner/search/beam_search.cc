#include "runner/search/beam_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
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
#include "sampler/largest.h"
#include "sampler/log_softmax.h"
#include "sampler/top_candidates.h"

namespace polystate {
BeamSearch::BeamSearch(const SearchContext& context, RowProcessors processors)
    : context_(context),
      beam_count_(static_cast<std::size_t>(context.config.num_beams)),
      reporter_(context.config),
      beams_(beam_count_, {.ids = {context.prompt.begin(), context.prompt.end()}, .reports = {}}),
      log_probabilities_(beam_count_, kNoScore),
      next_({{0, context.prompt.back()}}),
      finished_(context.config, context.prompt, context.max_length) {
  rows_.push_back(std::move(processors));
  // All beams start equal: the first step is to see only one of them.
  log_probabilities_.front() = 0;
}

Status BeamSearch::advance(std::span<float> logits) {
  if (const Status processed = process_rows(logits); !processed) return processed;
  const Result<std::vector<Extended>> extended = extend(choose(logits));
  if (!extended) return extended.error();
  finish(*extended);
  if (std::isinf(extended->front().candidate.log_probability) && finished_.is_empty()) {
    return Error{ErrorCode::kContract, "no token is left to choose: every score is -inf"};
  }
  const bool all_end =
      std::ranges::all_of(*extended, [](const Extended& each) { return each.end.has_value(); });
  keep_running(*extended);
  if (all_end || !finished_.may_improve(beams_.front().ids.size(), log_probabilities_.front())) {
    next_.clear();
  }
  return advance_rows(next_, rows_);
}

void BeamSearch::end_with_next() {
  context_.max_length = std::ssize(beams_.front().ids) + 1;
  context_.is_out_of_time = true;
}

Status BeamSearch::process_rows(std::span<float> logits) {
  if (Status started = reporter_.start_step(logits, next_.size()); !started) return started;
  for (std::size_t row = 0; row < next_.size(); ++row) {
    const std::span<float> scores = polystate::row_of(logits, next_.size(), row);
    if (Status normalised = sampler::log_softmax(scores); !normalised) return normalised;
    if (Status processed = rows_[row].process(beams_[row].ids, scores); !processed) {
      return processed;
    }
    reporter_.keep_scores(row, scores);
    // Log-probabilities are numbers; what processors make of them need not be.
    if (!context_.processors.empty() && sampler::has_nan(scores)) {
      return Error{ErrorCode::kContract, "a logits processor made a token's score NaN"};
    }
  }
  return {};
}

std::vector<BeamCandidate> BeamSearch::choose(std::span<const float> scores) const {
  const std::size_t ends = context_.config.eos_token_id.size();
  const std::size_t count = std::max<std::size_t>(2, 1 + ends) * beam_count_;
  const BeamScores all = {scores, next_.size(), log_probabilities_};
  if (!context_.config.do_sample) {
    std::vector<BeamCandidate> best = best_candidates(all, count);
    // Beams that may not be chosen lose their differences to rounding: which of them stand where
    // there is nothing better depends on the order of equals.
    const bool enough = best.back().log_probability > kNoScore / 2;
    return enough ? best : best_candidates_as_torch(all, best.size());
  }
  return drawn_candidates(
      all, count,
      {.seed = context_.seed,
       .sequence = context_.first_sequence,
       .step = static_cast<std::uint64_t>(beams_.front().ids.size() - context_.prompt.size())});
}

Result<std::vector<BeamSearch::Extended>> BeamSearch::extend(
    std::span<const BeamCandidate> candidates) const {
  std::vector<Extended> extended;
  extended.reserve(candidates.size());
  std::vector<TokenId> tokens;
  for (const BeamCandidate& candidate : candidates) {
    tokens = beams_[candidate.beam].ids;
    tokens.push_back(candidate.token);
    const auto end = end_of(context_, tokens);
    if (!end) return end.error();
    extended.push_back({candidate, *end});
  }
  return extended;
}

void BeamSearch::finish(std::span<const Extended> candidates) {
  std::vector<FinishedBeams::Candidate> merged;
  merged.reserve(candidates.size());
  for (const Extended& each : candidates) {
    const bool counts = merged.size() < beam_count_;
    merged.push_back(
        {each.candidate.log_probability, counts ? each.end : std::optional<FinishReason>()});
  }
  finished_.merge(merged, beams_.front().ids.size() + 1,
                  [&](std::size_t i) { return sequence_of(candidates[i].candidate); });
}

void BeamSearch::keep_running(std::span<const Extended> candidates) {
  std::vector<float> log_probabilities;
  log_probabilities.reserve(candidates.size());
  for (const Extended& each : candidates) {
    log_probabilities.push_back(each.candidate.log_probability + (each.end ? kNoScore : 0.0F));
  }
  std::vector<ReportedSequence> beams;
  std::vector<Continuation> next;
  for (const std::size_t chosen : sampler::top_places(log_probabilities, beam_count_)) {
    const BeamCandidate& candidate = candidates[chosen].candidate;
    log_probabilities_[beams.size()] = log_probabilities[chosen];
    beams.push_back(sequence_of(candidate));
    next.push_back({row_of(candidate), candidate.token});
  }
  beams_ = std::move(beams);
  next_ = std::move(next);
}

ReportedSequence BeamSearch::sequence_of(const BeamCandidate& candidate) const {
  ReportedSequence sequence = beams_[candidate.beam];
  reporter_.append(sequence, row_of(candidate), candidate.token);
  return sequence;
}

std::vector<GeneratedSequence> BeamSearch::take_results() {
  std::vector<GeneratedSequence> results;
  const auto count = static_cast<std::size_t>(context_.config.num_return_sequences);
  for (FinishedBeams::Place& place : finished_.take(count)) {
    results.push_back(reporter_.generated(
        std::move(place.sequence), place.end.value_or(FinishReason::kUnfinished), place.score));
  }
  return results;
}

}  // namespace polystate
