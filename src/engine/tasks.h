#pragma once

#include <cstddef>
#include <functional>

namespace polystate {

// Calls `task` with 0 to count - 1 on the threads that kernels have; see Engine::parallel_for.
void run_tasks(std::size_t count, const std::function<void(std::size_t index)>& task);

}  // namespace polystate
