#include "runner/search/search.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/stopping_criterion.h"
#include "runner/search/beam_search.h"
#include "runner/search/row_processors.h"
#include "runner/search/sampling_search.h"

namespace polystate {

Result<std::unique_ptr<Search>> make_search(const SearchContext& context) {
  Result<RowProcessors> processors = RowProcessors::start(context);
  if (!processors) return processors.error();
  if (context.config.num_beams > 1) {
    return std::unique_ptr<Search>(new BeamSearch(context, std::move(*processors)));
  }
  return std::unique_ptr<Search>(new SamplingSearch(context, std::move(*processors)));
}

Result<std::optional<FinishReason>> end_of(const SearchContext& context,
                                           std::span<const TokenId> tokens) {
  const std::vector<TokenId>& end_tokens = context.config.eos_token_id;
  if (std::ranges::find(end_tokens, tokens.back()) != end_tokens.end()) {
    return std::optional(FinishReason::kStop);
  }
  for (const auto& criterion : context.stopping_criteria) {
    const Result<bool> met = criterion->is_met({tokens, context.prompt.size(), context.source});
    if (!met) return met.error();
    if (*met) return std::optional(criterion->reason());
  }
  if (std::ssize(tokens) < context.max_length) return std::optional<FinishReason>();
  return std::optional(context.is_out_of_time ? FinishReason::kMaxTime : FinishReason::kLength);
}

}  // namespace polystate
