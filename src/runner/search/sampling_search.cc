#include "runner/search/sampling_search.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/sampler.h"
#include "polystate/sampler/stopping_criterion.h"
#include "runner/search/row_processors.h"
#include "runner/search/search.h"
#include "runner/search/token_reports.h"

namespace polystate {

SamplingSearch::SamplingSearch(const SearchContext& context, RowProcessors processors)
    : context_(context),
      reporter_(context.config),
      sequences_(static_cast<std::size_t>(context.config.num_return_sequences),
                 {.ids = {context.prompt.begin(), context.prompt.end()}, .reports = {}}),
      reasons_(sequences_.size(), FinishReason::kUnfinished),
      live_(sequences_.size()),
      next_({{0, context.prompt.back()}}) {
  rows_.push_back(std::move(processors));
  std::iota(live_.begin(), live_.end(), std::size_t{0});
}

Status SamplingSearch::advance(std::span<float> logits) {
  const std::size_t rows = next_.size();
  if (Status started = reporter_.start_step(logits, rows); !started) return started;
  const bool share_row = rows < live_.size();  // the first step: all start from one row
  std::vector<Continuation> next;
  std::vector<std::size_t> live;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    const std::size_t parent = share_row ? 0 : i;
    std::span<float> scores = row_of(logits, rows, parent);
    if (share_row) {
      scores_.assign(scores.begin(), scores.end());
      scores = scores_;
    }
    const Result<TokenId> token = choose(live_[i], parent, scores);
    if (!token) return token.error();
    ReportedSequence& sequence = sequences_[live_[i]];
    reporter_.append(sequence, parent, *token);
    const auto end = end_of(context_, sequence.ids);
    if (!end) return end.error();
    if (*end) {
      reasons_[live_[i]] = **end;
    } else {
      next.push_back({parent, *token});
      live.push_back(live_[i]);
    }
  }
  next_ = std::move(next);
  live_ = std::move(live);
  return advance_rows(next_, rows_);
}

void SamplingSearch::end_with_next() {
  if (live_.empty()) return;
  context_.max_length = std::ssize(sequences_[live_.front()].ids) + 1;
  context_.is_out_of_time = true;
}

Result<TokenId> SamplingSearch::choose(std::size_t sequence, std::size_t row,
                                       std::span<float> scores) {
  const std::vector<TokenId>& tokens = sequences_[sequence].ids;
  if (const Status processed = rows_[row].process(tokens, scores); !processed) {
    return processed.error();
  }
  reporter_.keep_scores(row, scores);
  Result<TokenId> token = context_.sampler.sample(
      scores, {.seed = context_.seed,
               .sequence = context_.first_sequence + sequence,
               .step = static_cast<std::uint64_t>(tokens.size() - context_.prompt.size())});
  if (token && *token >= scores.size()) {
    return Error{ErrorCode::kContract, "the sampler chose token " + std::to_string(*token) +
                                           ", which is past the vocabulary's " +
                                           std::to_string(scores.size()) + " tokens"};
  }
  return token;
}

std::vector<GeneratedSequence> SamplingSearch::take_results() {
  std::vector<GeneratedSequence> results;
  results.reserve(sequences_.size());
  for (std::size_t i = 0; i < sequences_.size(); ++i) {
    results.push_back(reporter_.generated(std::move(sequences_[i]), reasons_[i], std::nullopt));
  }
  return results;
}

}  // namespace polystate
