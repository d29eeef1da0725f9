#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/token.h"
#include "polystate/runner/runner.h"
#include "runner/encoder_decoder.h"
#include "runner/generation_plan.h"
#include "runner/sentence.h"

namespace polystate {

// Runs the sentences of a plan side by side, as far as rows and pages go (continuous batching):
// every step reads one token in each row of each sentence; what is finished leaves, and others
// join. Sources are encoded together, those of like lengths, so that there is little padding; the
// longest come first, so that the last rows are not one long sentence.
class Scheduler {
 public:
  Scheduler(EncoderDecoder& model, const GenerationPlan& plan);

  // The sequences of each input, in their order. Errors as Runner::generate; the pages of what ran
  // return with this object.
  Result<std::vector<std::vector<GeneratedSequence>>> run();

 private:
  // Starts sentences: a quarter of the rows at least, or all that are left.
  Status admit();
  // The next inputs to encode together.
  [[nodiscard]] std::span<const std::size_t> next_batch() const;
  [[nodiscard]] std::size_t free_rows() const;
  Status start(std::span<const std::size_t> batch);
  // One token in every row.
  Status step();
  // Has every sentence choose by its part of the logits [rows, vocabulary]: side by side, unless
  // code of the caller's would run on several threads at once.
  Status choose(std::span<float> logits);
  void collect_finished();

  EncoderDecoder& model_;
  const GenerationPlan& plan_;
  std::vector<std::size_t> order_;  // of the inputs
  std::size_t started_ = 0;         // of order_
  std::vector<std::unique_ptr<Sentence>> running_;
  std::vector<DecoderRow> rows_;  // of the present step
  std::vector<std::vector<GeneratedSequence>> results_;
  std::size_t done_ = 0;
};

}  // namespace polystate
