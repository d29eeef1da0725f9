#include "kernels/parallel.h"

#include <executorch/runtime/kernel/thread_parallel_interface.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

namespace polystate {
namespace {

// Ranges of a thread, where there is enough to do: what one thread reads should lie together.
constexpr std::int64_t kRanges = 8;

std::int64_t divided(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

}  // namespace

void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& work) {
  const std::int64_t threads = count <= grain ? 1 : executorch::extension::get_thread_count();
  if (threads == 1) {
    if (count > 0) work(0, count);
    return;
  }
  // A multiple of the grain: what belongs together stays together.
  const std::int64_t size = divided(count, threads * kRanges * grain) * grain;
  const std::int64_t ranges = divided(count, size);
  std::atomic<std::int64_t> next = 0;
  const auto take_ranges = [&](std::int64_t /*first*/, std::int64_t /*last*/) {
    for (std::int64_t range = next++; range < ranges; range = next++) {
      work(range * size, std::min(count, (range + 1) * size));
    }
  };
  executorch::extension::parallel_for(0, std::min(threads, ranges), 1, take_ranges);
}

}  // namespace polystate
