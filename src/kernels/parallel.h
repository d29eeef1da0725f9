#pragma once

#include <cstdint>
#include <functional>

namespace polystate {

// Calls `work(first, last)` for ranges that make up 0 to count - 1, on the engine's threads. A
// range has at least `grain` numbers (but for the last one) and is worth a thread; each thread
// takes the next one when it is done with its own, so that a thread that is held up holds up no
// other.
void parallel_for(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& work);

}  // namespace polystate
