#include "runner/search/token_reports.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "polystate/sampler/generation_config.h"
#include "polystate/sampler/stopping_criterion.h"
#include "sampler/log_softmax.h"
#include "sampler/top_candidates.h"

namespace polystate {
namespace {

// log(sum of e^logit), in double: a difference to it keeps the digits of improbable tokens.
Result<double> log_sum_of(std::span<const float> logits) {
  const Result<sampler::LogSum> sum = sampler::log_sum(logits);
  if (!sum) return sum.error();
  return static_cast<double>(sum->largest) + std::log(static_cast<double>(sum->sum));
}

TokenLogprob logprob_of(std::span<const float> logits, TokenId token, double log_sum) {
  return {token, static_cast<double>(logits[token]) - log_sum};
}

std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, double log_sum,
                                       std::size_t count) {
  constexpr std::size_t kFew = 128;  // more are found by sorting
  std::vector<TokenLogprob> top;
  if (count == 0) return top;
  if (count <= kFew) {
    for (const sampler::Candidate& each : sampler::top_candidates(logits, count)) {
      top.push_back(logprob_of(logits, each.token, log_sum));
    }
    return top;
  }
  for (const std::size_t place : sampler::top_places(logits, std::min(count, logits.size()))) {
    top.push_back(logprob_of(logits, static_cast<TokenId>(place), log_sum));
  }
  return top;
}

}  // namespace

Result<TokenLogprobs> token_logprobs(std::span<const float> logits, TokenId token,
                                     std::size_t count) {
  const Result<double> log_sum = log_sum_of(logits);
  if (!log_sum) return log_sum.error();
  return TokenLogprobs{logprob_of(logits, token, *log_sum), top_logprobs(logits, *log_sum, count)};
}

TokenReporter::TokenReporter(const GenerationConfig& config)
    : scores_(config.output_scores), logits_(config.output_logits) {
  if (config.logprobs) logprobs_ = static_cast<std::size_t>(*config.logprobs);
}

Status TokenReporter::start_step(std::span<const float> logits, std::size_t rows) {
  if (!is_asked()) return {};
  rows_.clear();
  sums_.assign(rows, 0.0);
  if (logprobs_) step_.assign(logits.begin(), logits.end());
  const std::size_t vocabulary = logits.size() / rows;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = logits.subspan(i * vocabulary, vocabulary);
    RowReport& report = *rows_.emplace_back(std::make_shared<RowReport>());
    if (logits_) report.logits.assign(row.begin(), row.end());
    if (!logprobs_) continue;
    const Result<double> log_sum = log_sum_of(row);
    if (!log_sum) return log_sum.error();
    sums_[i] = *log_sum;
    report.top = top_logprobs(row, *log_sum, *logprobs_);
  }
  return {};
}

void TokenReporter::keep_scores(std::size_t row, std::span<const float> scores) {
  if (scores_) rows_[row]->scores.assign(scores.begin(), scores.end());
}

void TokenReporter::append(ReportedSequence& sequence, std::size_t row, TokenId token) const {
  sequence.ids.push_back(token);
  if (!is_asked()) return;
  TokenLogprob chosen = {token, 0.0};
  if (logprobs_) {
    const std::size_t vocabulary = step_.size() / rows_.size();
    const std::span<const float> logits = std::span(step_).subspan(row * vocabulary, vocabulary);
    chosen = logprob_of(logits, token, sums_[row]);
  }
  sequence.reports.push_back({chosen, rows_[row]});
}

GeneratedSequence TokenReporter::generated(ReportedSequence sequence, FinishReason reason,
                                           std::optional<float> score) const {
  GeneratedSequence result = {
      .ids = std::move(sequence.ids), .score = score, .finish_reason = reason};
  for (const TokenReport& report : sequence.reports) {
    if (logprobs_) result.logprobs.push_back({report.chosen, report.row->top});
    const RowReport& row = *report.row;
    result.scores.insert(result.scores.end(), row.scores.begin(), row.scores.end());
    result.logits.insert(result.logits.end(), row.logits.begin(), row.logits.end());
  }
  return result;
}

}  // namespace polystate
