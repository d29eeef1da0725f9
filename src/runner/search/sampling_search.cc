#include "runner/search/sampling_search.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/sampler.h"
#include "runner/search/row_processors.h"
#include "runner/search/search.h"

namespace polystate {

SamplingSearch::SamplingSearch(const SearchContext& context, RowProcessors processors)
    : context_(context),
      sequences_(static_cast<std::size_t>(context.config.num_return_sequences),
                 {context.prompt.begin(), context.prompt.end()}),
      live_(sequences_.size()),
      next_({{0, context.prompt.back()}}) {
  rows_.push_back(std::move(processors));
  std::iota(live_.begin(), live_.end(), std::size_t{0});
}

Status SamplingSearch::advance(std::span<float> logits) {
  const std::size_t rows = next_.size();
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
    const Result<TokenId> token = choose(live_[i], rows_[parent], scores);
    if (!token) return token.error();
    std::vector<TokenId>& tokens = sequences_[live_[i]];
    tokens.push_back(*token);
    if (goes_on(tokens)) {
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
  context_.max_length = std::ssize(sequences_[live_.front()]) + 1;
}

Result<TokenId> SamplingSearch::choose(std::size_t sequence, const RowProcessors& row,
                                       std::span<float> scores) {
  const std::vector<TokenId>& tokens = sequences_[sequence];
  if (const Status processed = row.process(tokens, scores); !processed) return processed.error();
  return context_.sampler.sample(
      scores, {.seed = context_.seed,
               .sequence = context_.first_sequence + sequence,
               .step = static_cast<std::uint64_t>(tokens.size() - context_.prompt.size())});
}

bool SamplingSearch::goes_on(const std::vector<TokenId>& tokens) const {
  return !is_end(context_.config, tokens.back()) && std::ssize(tokens) < context_.max_length;
}

std::vector<GeneratedSequence> SamplingSearch::take_results() {
  std::vector<GeneratedSequence> results;
  results.reserve(sequences_.size());
  for (auto& tokens : sequences_) results.push_back({std::move(tokens), std::nullopt});
  return results;
}

}  // namespace polystate
