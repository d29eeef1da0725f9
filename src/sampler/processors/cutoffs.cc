// Processors that forbid tokens below a probability. It is compared as a score, so that none needs
// the probability of every token.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>

#include "polystate/core/result.h"
#include "polystate/sampler/logits_processor.h"
#include "sampler/largest.h"
#include "sampler/log_softmax.h"
#include "sampler/processors/processors.h"
#include "sampler/processors/truncation.h"
#include "sampler/top_candidates.h"

namespace polystate::sampler {
namespace {

class MinP final : public LogitsProcessor {
 public:
  MinP(double fraction, std::size_t keep) : log_fraction_(std::log(fraction)), keep_(keep) {}

  // Of tokens that equal the last that is kept, others are forbidden.
  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    const Result<Largest> largest = find_largest(scores);
    if (!largest) return largest.error();
    const auto best = top_candidates(scores, keep_);
    forbid_below(static_cast<float>(static_cast<double>(largest->score) + log_fraction_), scores);
    for (const Candidate& candidate : best) scores[candidate.token] = candidate.score;
    return {};
  }

 private:
  double log_fraction_;
  std::size_t keep_;
};

// Forbids what is below a logarithm of a probability, but not the `keep` best.
void forbid_improbable(double logarithm, const LogSum& sum, std::size_t keep,
                       std::span<float> scores) {
  const double limit = static_cast<double>(sum.largest) + static_cast<double>(sum.rest) + logarithm;
  forbid_below(std::min(static_cast<float>(limit), nth_largest(scores, keep)), scores);
}

class EpsilonCutoff final : public LogitsProcessor {
 public:
  EpsilonCutoff(double epsilon, std::size_t keep) : log_epsilon_(std::log(epsilon)), keep_(keep) {}

  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    const Result<LogSum> sum = log_sum(scores);
    if (!sum) return sum.error();
    forbid_improbable(log_epsilon_, *sum, keep_, scores);
    return {};
  }

 private:
  double log_epsilon_;
  std::size_t keep_;
};

class EtaCutoff final : public LogitsProcessor {
 public:
  EtaCutoff(double epsilon, std::size_t keep) : log_epsilon_(std::log(epsilon)), keep_(keep) {}

  Status process(const TokenContext& /*context*/, std::span<float> scores) const override {
    const Result<LogSum> sum = log_sum(scores);
    if (!sum) return sum.error();
    const double eta = std::min(log_epsilon_, log_epsilon_ / 2 - entropy(scores, *sum));
    forbid_improbable(eta, *sum, keep_, scores);
    return {};
  }

 private:
  double log_epsilon_;
  std::size_t keep_;
};

}  // namespace

Processor min_p(double fraction, std::size_t keep) {
  return std::make_shared<MinP>(fraction, keep);
}

Processor epsilon_cutoff(double epsilon, std::size_t keep) {
  return std::make_shared<EpsilonCutoff>(epsilon, keep);
}

Processor eta_cutoff(double epsilon, std::size_t keep) {
  return std::make_shared<EtaCutoff>(epsilon, keep);
}

}  // namespace polystate::sampler
