#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace polystate {

// How many threads kernels have: what `use_threads` said last, or one for each processor; 1 while
// this thread has a SerialKernels.
std::int64_t thread_count();

void use_threads(std::int64_t count);

// Calls `task`, which does not throw, with 0 on this thread and with 1 to `threads` - 1 at the most
// on others at the same time, always the same ones, and returns when every call has.
using TeamRun = void (*)(std::int64_t threads, const std::function<void(std::size_t number)>& task);

// Has the threads of `run` do what a ThreadTeam would: for an engine whose other code has threads
// already, as two teams that watch for work take the processors from each other. Null: a
// ThreadTeam again.
void use_team(TeamRun run);

// Keeps the kernels that this thread calls to it, while it exists.
class SerialKernels {
 public:
  SerialKernels();
  ~SerialKernels();
  SerialKernels(const SerialKernels&) = delete;
  SerialKernels& operator=(const SerialKernels&) = delete;
};

// Calls `work(first, last)` for ranges that make up 0 to count - 1, on as many threads as there
// are, and throws what it throws, once all have ended. A range has at least `grain` numbers (but
// for the last one) and is worth a thread. Each thread has a share of the ranges, the first one the
// first, so that what was computed for a row is where the next piece of work on it is done; then it
// takes those that others have left, so that a late thread holds up no other. The process has one
// team of threads: when another caller has it, within `work` for one, this thread does everything.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& work);

}  // namespace polystate
