#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"

namespace polystate {

// The log-probability of a token by its logits [vocabulary], and the `count` most probable tokens.
// kContract when a logit is NaN or +inf, or all are -inf.
Result<TokenLogprobs> token_logprobs(std::span<const float> logits, TokenId token,
                                     std::size_t count);

// What was asked for of one row of a step. Sequences that go on from the row share it.
struct RowReport {
  std::vector<TokenLogprob> top;  // as `logprobs` says
  std::vector<float> scores;      // [vocabulary], or nothing without `output_scores`
  std::vector<float> logits;      // the same of `output_logits`
};

// What was asked for of a token, and the row that it was chosen from.
struct TokenReport {
  TokenLogprob chosen;
  std::shared_ptr<const RowReport> row;
};

// A sequence so far.
struct ReportedSequence {
  std::vector<TokenId> ids;
  std::vector<TokenReport> reports;  // of each generated token; none where nothing is asked for
};

// Reports what `logprobs`, `output_scores` and `output_logits` of a configuration ask for.
class TokenReporter {
 public:
  explicit TokenReporter(const GenerationConfig& config);

  // Begins a step, with its logits [rows, vocabulary] as the model gave them. Errors as
  // token_logprobs, only where `logprobs` asks.
  Status start_step(std::span<const float> logits, std::size_t rows);
  // The processed scores [vocabulary] of a row.
  void keep_scores(std::size_t row, std::span<const float> scores);

  // Appends a token that was chosen from a row of the step.
  void append(ReportedSequence& sequence, std::size_t row, TokenId token) const;

  // What a caller gets of a finished sequence: it ended for `reason`, and a beam search gave it
  // `score`.
  [[nodiscard]] GeneratedSequence generated(ReportedSequence sequence, FinishReason reason,
                                            std::optional<float> score) const;

 private:
  [[nodiscard]] bool is_asked() const { return logprobs_ || scores_ || logits_; }

  std::optional<std::size_t> logprobs_;
  bool scores_;
  bool logits_;
  std::vector<float> step_;   // the logits of the step's rows
  std::vector<double> sums_;  // log(sum of e^logit) of each
  std::vector<std::shared_ptr<RowReport>> rows_;
};

}  // namespace polystate
