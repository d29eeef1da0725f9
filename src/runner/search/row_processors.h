#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/sampler/logits_processor.h"
#include "runner/search/search.h"

namespace polystate {

// The processors of one row, with what they keep for it. It borrows what its SearchContext borrows.
class RowProcessors {
 public:
  // Of a row that has read the prompt. Errors as LogitsProcessor::start.
  static Result<RowProcessors> start(const SearchContext& context);

  // Runs the processors on the scores [vocabulary] of the token that follows `tokens`: the prompt,
  // and all that the row advanced by.
  Status process(std::span<const TokenId> tokens, std::span<float> scores) const;

  Status advance(TokenId token);
  [[nodiscard]] Result<RowProcessors> fork() const;

 private:
  RowProcessors(const LogitsProcessors& processors, std::size_t prompt_length,
                std::span<const TokenId> source);

  const LogitsProcessors* processors_;
  std::size_t prompt_length_;
  std::span<const TokenId> source_;
  std::vector<std::unique_ptr<RowState>> states_;  // of each processor; null: it keeps none
};

// Makes `rows` those of the next step: each goes on from its parent, by its token.
Status advance_rows(std::span<const Continuation> next, std::vector<RowProcessors>& rows);

}  // namespace polystate
