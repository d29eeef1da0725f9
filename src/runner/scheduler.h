#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "polystate/core/result.h"
#include "runner/encoder_decoder.h"
#include "runner/generation_plan.h"
#include "runner/generation_queue.h"
#include "runner/sentence.h"

namespace polystate {

// Runs sentences side by side, as far as its rows and the model's pages go (continuous batching):
// every step reads one token in each row of each sentence; what is finished leaves, and others
// join from the queue. Sources are encoded together, those of like lengths, so that there is little
// padding; the longest come first, so that the last rows are not one long sentence.
class Scheduler {
 public:
  Scheduler(EncoderDecoder& model, const GenerationPlan& plan, GenerationQueue& queue,
            std::size_t rows);

  // Runs what waits in the queue until none is left. Errors as Runner::generate; the pages of what
  // ran return with this object.
  Status run();

 private:
  // Starts sentences: a quarter of the rows at least, or all that are left.
  Status admit();
  [[nodiscard]] std::size_t free_rows() const;
  [[nodiscard]] Room room() const;
  Status start(std::span<const std::size_t> batch);
  // One token in every row.
  Status step();
  // Has every sentence choose by its part of the logits [rows, vocabulary]: side by side, unless
  // code of the caller's would run on several threads at once.
  Status choose(std::span<float> logits);
  void collect_finished();

  EncoderDecoder& model_;
  const GenerationPlan& plan_;
  GenerationQueue& queue_;
  std::size_t most_rows_;
  std::vector<std::unique_ptr<Sentence>> running_;
  std::vector<DecoderRow> rows_;  // of the present step
};

}  // namespace polystate
