#include "runner/sampling_search.h"

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
#include "runner/search.h"

namespace polystate {

SamplingSearch::SamplingSearch(const SearchSetting& setting)
    : setting_(setting),
      sequences_(static_cast<std::size_t>(setting.config.num_return_sequences),
                 {setting.prompt.begin(), setting.prompt.end()}),
      live_(sequences_.size()),
      next_({{0, setting.prompt.back()}}) {
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
    const Result<TokenId> token = choose(live_[i], scores);
    if (!token) return token.error();
    if (append(live_[i], *token)) {
      next.push_back({parent, *token});
      live.push_back(live_[i]);
    }
  }
  next_ = std::move(next);
  live_ = std::move(live);
  return {};
}

Result<TokenId> SamplingSearch::choose(std::size_t sequence, std::span<float> scores) {
  const std::vector<TokenId>& tokens = sequences_[sequence];
  if (const Status processed = process(setting_, tokens, scores); !processed) {
    return processed.error();
  }
  return setting_.sampler.sample(
      scores, {.seed = setting_.seed,
               .sequence = setting_.first_sequence + sequence,
               .step = static_cast<std::uint64_t>(tokens.size() - setting_.prompt.size())});
}

bool SamplingSearch::append(std::size_t sequence, TokenId token) {
  std::vector<TokenId>& tokens = sequences_[sequence];
  tokens.push_back(token);
  const bool wanted = setting_.on_token == nullptr || setting_.on_token(token);
  return wanted && !is_end(setting_.config, token) &&
         static_cast<std::int64_t>(tokens.size()) < setting_.max_length;
}

std::vector<GeneratedSequence> SamplingSearch::take_results() {
  std::vector<GeneratedSequence> results;
  results.reserve(sequences_.size());
  for (auto& tokens : sequences_) results.push_back({std::move(tokens), std::nullopt});
  return results;
}

}  // namespace polystate
