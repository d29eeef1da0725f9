#include "runner/generation_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "polystate/runner/runner.h"
#include "runner/encoder_decoder_limits.h"
#include "runner/generation_plan.h"

namespace polystate {

GenerationQueue::GenerationQueue(const GenerationPlan& plan, const EncoderDecoderLimits& limits)
    : plan_(plan), limits_(limits), repeats_(plan.inputs().size()), results_(plan.inputs().size()) {
  const std::vector<std::size_t> firsts = plan.first_alike();
  for (std::size_t input = 0; input < firsts.size(); ++input) {
    (firsts[input] == input ? order_ : repeats_[firsts[input]]).push_back(input);
  }
  std::stable_sort(order_.begin(), order_.end(), [&plan](std::size_t left, std::size_t right) {
    return plan.inputs()[left].source.size() > plan.inputs()[right].source.size();
  });
}

std::vector<std::size_t> GenerationQueue::take(const Room& room, bool only_the_rest) {
  const std::lock_guard lock(mutex_);
  const auto waiting = std::span(order_).subspan(taken_);
  if (waiting.empty()) return {};
  // All are padded to the first, which is the longest.
  const std::size_t longest = plan_.inputs()[waiting.front()].source.size();
  const std::size_t together = std::max(room.tokens / longest, std::size_t{1});
  const std::size_t most = std::min({waiting.size(), room.inputs, together});
  std::int64_t pages = room.cross_pages;
  std::size_t count = 0;
  while (count < most) {
    const auto& source = plan_.inputs()[waiting[count]].source;
    pages -= limits_.pages_for(static_cast<std::int64_t>(source.size()));
    if (pages < 0) break;
    ++count;
  }
  if (only_the_rest && count < waiting.size()) return {};
  taken_ += count;
  return {waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count)};
}

void GenerationQueue::clear() {
  const std::lock_guard lock(mutex_);
  taken_ = order_.size();
}

void GenerationQueue::finish(std::size_t input, std::vector<GeneratedSequence> sequences) {
  const std::lock_guard lock(mutex_);
  for (const std::size_t repeat : repeats_[input]) results_[repeat] = sequences;
  results_[input] = std::move(sequences);
  tell(input);
  for (const std::size_t repeat : repeats_[input]) tell(repeat);
}

void GenerationQueue::tell(std::size_t input) {
  const GenerationOptions& options = plan_.options();
  ++done_;
  if (options.on_done != nullptr) options.on_done(input);
  if (options.on_progress != nullptr) options.on_progress(done_);
}

}  // namespace polystate
