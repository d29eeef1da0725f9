#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/search.h"

namespace polystate {

// Greedy search, and sampling: num_return_sequences sequences of one prompt, each by the sampler
// alone, as transformers' `_sample`. A sequence that ends frees its row.
class SamplingSearch final : public Search {
 public:
  explicit SamplingSearch(const SearchSetting& setting);

  [[nodiscard]] std::span<const Continuation> next() const override { return next_; }
  Status advance(std::span<float> logits) override;
  [[nodiscard]] std::size_t most_rows() const override { return live_.size(); }
  std::vector<GeneratedSequence> take_results() override;

 private:
  // Chooses the next token of sequence `sequence`.
  Result<TokenId> choose(std::size_t sequence, std::span<float> scores);
  // Appends it; whether the sequence goes on.
  bool append(std::size_t sequence, TokenId token);

  SearchSetting setting_;
  std::vector<std::vector<TokenId>> sequences_;
  std::vector<std::size_t> live_;  // sequences that go on
  std::vector<Continuation> next_;
  std::vector<float> scores_;  // of a row that several sequences start from
};

}  // namespace polystate
