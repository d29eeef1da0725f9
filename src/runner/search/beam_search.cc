#include "runner/search/beam_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/search/beam_candidates.h"
#include "runner/search/finished_beams.h"
#include "runner/search/row_processors.h"
#include "runner/search/search.h"
#include "sampler/largest.h"
#include "sampler/log_softmax.h"
#include "sampler/top_candidates.h"

namespace polystate {
BeamSearch::BeamSearch(const SearchContext& context, RowProcessors processors)
    : context_(context),
      beam_count_(static_cast<std::size_t>(context.config.num_beams)),
      beams_(beam_count_, {context.prompt.begin(), context.prompt.end()}),
      log_probabilities_(beam_count_, kNoScore),
      next_({{0, context.prompt.back()}}),
      finished_(context.config, context.prompt, context.max_length) {
  rows_.push_back(std::move(processors));
  // All beams start equal: the first step is to see only one of them.
  log_probabilities_.front() = 0;
}

Status BeamSearch::advance(std::span<float> logits) {
  if (const Status processed = process_rows(logits); !processed) return processed;
  std::vector<BeamCandidate> candidates = choose(logits);
  finish(candidates);
  if (std::isinf(candidates.front().log_probability) && finished_.is_empty()) {
    return Error{ErrorCode::kContract, "no token is left to choose: every score is -inf"};
  }
  const bool all_end = std::all_of(candidates.begin(), candidates.end(),
                                   [this](const BeamCandidate& each) { return ends(each); });
  keep_running(std::move(candidates));
  if (all_end || !finished_.may_improve(beams_.front().size(), log_probabilities_.front())) {
    next_.clear();
  }
  return advance_rows(next_, rows_);
}

void BeamSearch::end_with_next() { context_.max_length = std::ssize(beams_.front()) + 1; }

Status BeamSearch::process_rows(std::span<float> logits) {
  for (std::size_t row = 0; row < next_.size(); ++row) {
    const std::span<float> scores = row_of(logits, next_.size(), row);
    if (Status normalised = sampler::log_softmax(scores); !normalised) return normalised;
    if (Status processed = rows_[row].process(beams_[row], scores); !processed) return processed;
    if (context_.has_callers_processors && sampler::has_nan(scores)) {
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
       .step = static_cast<std::uint64_t>(beams_.front().size() - context_.prompt.size())});
}

bool BeamSearch::ends(const BeamCandidate& candidate) const {
  return is_end(context_.config, candidate.token) ||
         static_cast<std::int64_t>(beams_.front().size()) + 1 >= context_.max_length;
}

void BeamSearch::finish(std::span<const BeamCandidate> candidates) {
  std::vector<FinishedBeams::Candidate> merged;
  merged.reserve(candidates.size());
  for (const BeamCandidate& candidate : candidates) {
    const bool counts = merged.size() < beam_count_;
    merged.push_back({candidate.log_probability, counts && ends(candidate)});
  }
  finished_.merge(merged, beams_.front().size() + 1,
                  [&](std::size_t i) { return tokens_of(candidates[i]); });
}

void BeamSearch::keep_running(std::vector<BeamCandidate> candidates) {
  for (BeamCandidate& candidate : candidates) {
    if (ends(candidate)) candidate.log_probability += kNoScore;
  }
  std::vector<float> log_probabilities;
  log_probabilities.reserve(candidates.size());
  for (const BeamCandidate& each : candidates) log_probabilities.push_back(each.log_probability);
  std::vector<std::vector<TokenId>> beams;
  const bool share_row = next_.size() < beam_count_;
  next_.clear();
  for (const std::size_t chosen : sampler::top_places(log_probabilities, beam_count_)) {
    const BeamCandidate& candidate = candidates[chosen];
    log_probabilities_[beams.size()] = candidate.log_probability;
    beams.push_back(tokens_of(candidate));
    next_.push_back({share_row ? 0 : candidate.beam, candidate.token});
  }
  beams_ = std::move(beams);
}

std::vector<TokenId> BeamSearch::tokens_of(const BeamCandidate& candidate) const {
  const std::vector<TokenId>& beam = beams_[candidate.beam];
  std::vector<TokenId> tokens;
  tokens.reserve(beam.size() + 1);
  tokens.assign(beam.begin(), beam.end());
  tokens.push_back(candidate.token);
  return tokens;
}

std::vector<GeneratedSequence> BeamSearch::take_results() {
  return finished_.take(static_cast<std::size_t>(context_.config.num_return_sequences));
}

}  // namespace polystate
