#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "polystate/runner/runner.h"
#include "runner/encoder_decoder_limits.h"
#include "runner/generation_plan.h"

namespace polystate {

// What a scheduler has free for inputs.
struct Room {
  std::size_t inputs;
  std::size_t tokens;  // of their sources, padded to the longest; one input may have more
  std::int64_t cross_pages;
};

// The inputs of a plan that wait, the longest first, and the sequences of those that are done.
// Inputs that are alike are one. For schedulers on any number of threads.
class GenerationQueue {
 public:
  GenerationQueue(const GenerationPlan& plan, const EncoderDecoderLimits& limits);

  // Takes the next inputs, as many as there is room for; with `only_the_rest` none unless there is
  // room for all that wait.
  std::vector<std::size_t> take(const Room& room, bool only_the_rest);
  // Drops what waits.
  void clear();

  // Keeps the sequences of an input that is done, for those like it, too, and tells the caller.
  void finish(std::size_t input, std::vector<GeneratedSequence> sequences);
  // The sequences of each input, in the plan's order; when nothing works on the queue any more.
  std::vector<std::vector<GeneratedSequence>> take_results() { return std::move(results_); }

 private:
  // Tells the caller that an input is finished.
  void tell(std::size_t input);

  const GenerationPlan& plan_;
  const EncoderDecoderLimits& limits_;
  std::vector<std::size_t> order_;                 // of the inputs, each the first of its like
  std::vector<std::vector<std::size_t>> repeats_;  // of each input: the others like it
  std::mutex mutex_;                               // guards the rest, and calls of the caller's
  std::size_t taken_ = 0;                          // of order_
  std::vector<std::vector<GeneratedSequence>> results_;
  std::size_t done_ = 0;
};

}  // namespace polystate
