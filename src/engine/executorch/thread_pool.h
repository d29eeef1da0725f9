#pragma once

#include <cstdint>
#include <shared_mutex>

#include "polystate/core/result.h"

namespace polystate {

// Held while a program runs: the pool is not replaced under it.
std::shared_lock<std::shared_mutex> use_thread_pool();

// Gives ExecuTorch's pool, which the whole process shares, `threads` threads, once no session runs.
// kEngine when it cannot.
Status set_thread_count(std::uint32_t threads);

}  // namespace polystate
