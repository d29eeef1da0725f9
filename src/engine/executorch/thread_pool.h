#pragma once

#include <executorch/extension/threadpool/threadpool_guard.h>

#include <cstdint>
#include <optional>

#include "kernels/parallel.h"
#include "polystate/core/result.h"

namespace polystate {

// A session's hold on ExecuTorch's pool of threads, which is one a process. XNNPACK's runtimes keep
// a pointer to it from when they are made, so that it is not replaced while any session exists.
class ThreadPoolUse {
 public:
  ThreadPoolUse();
  ~ThreadPoolUse();
  ThreadPoolUse(const ThreadPoolUse&) = delete;
  ThreadPoolUse& operator=(const ThreadPoolUse&) = delete;
};

// Gives the pool `threads` threads. kEngine when it has another number and sessions use it, or when
// it cannot have so many.
Status set_thread_count(std::uint32_t threads);

// Has kernels use as many threads as the pool has.
void share_thread_count();

// Keeps to this thread, while it exists, what would use the pool or the kernels' own team; runtimes
// of XNNPACK that are made meanwhile, too.
class SingleThread {
 public:
  // Does nothing when not `wanted`.
  explicit SingleThread(bool wanted);

 private:
  std::optional<executorch::extension::threadpool::NoThreadPoolGuard> no_pool_;
  std::optional<SerialKernels> no_team_;
};

}  // namespace polystate
