#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/search/row_processors.h"
#include "runner/search/search.h"

namespace polystate {

// Greedy search, and sampling: num_return_sequences sequences of one prompt, each by the sampler
// alone, as transformers' `_sample`. A sequence that ends frees its row.
class SamplingSearch final : public Search {
 public:
  SamplingSearch(const SearchContext& context, RowProcessors processors);

  [[nodiscard]] std::span<const Continuation> next() const override { return next_; }
  Status advance(std::span<float> logits) override;
  void end_with_next() override;
  [[nodiscard]] std::size_t most_rows() const override { return live_.size(); }
  [[nodiscard]] TokenId newest_token() const override { return sequences_.front().back(); }
  std::vector<GeneratedSequence> take_results() override;

 private:
  // Chooses the next token of sequence `sequence`, by the scores and the processors of its row.
  Result<TokenId> choose(std::size_t sequence, const RowProcessors& row, std::span<float> scores);
  // Whether a sequence goes on after its last token.
  [[nodiscard]] bool goes_on(const std::vector<TokenId>& tokens) const;

  SearchContext context_;
  std::vector<RowProcessors> rows_;  // of next_
  std::vector<std::vector<TokenId>> sequences_;
  std::vector<std::size_t> live_;  // sequences that go on
  std::vector<Continuation> next_;
  std::vector<float> scores_;  // of a row that several sequences start from
};

}  // namespace polystate
