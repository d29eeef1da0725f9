#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/stopping_criterion.h"
#include "runner/search/row_processors.h"
#include "runner/search/search.h"
#include "runner/search/token_reports.h"

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
  [[nodiscard]] std::span<const TokenId> tokens_of(std::size_t row) const override {
    return sequences_[live_[row]].ids;
  }
  [[nodiscard]] std::span<const TokenId> tokens() const override { return sequences_.front().ids; }
  std::vector<GeneratedSequence> take_results() override;

 private:
  // Chooses the next token of sequence `sequence`, by the scores and the processors of its row.
  Result<TokenId> choose(std::size_t sequence, std::size_t row, std::span<float> scores);
  SearchContext context_;
  std::vector<RowProcessors> rows_;  // of next_
  TokenReporter reporter_;
  std::vector<ReportedSequence> sequences_;
  std::vector<FinishReason> reasons_;  // of each sequence
  std::vector<std::size_t> live_;      // sequences that go on
  std::vector<Continuation> next_;
  std::vector<float> scores_;  // of a row that several sequences start from
};

}  // namespace polystate
