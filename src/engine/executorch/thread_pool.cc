#include "engine/executorch/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "polystate/core/result.h"

// The library exports this class, but the package ships no header of it.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  std::size_t get_thread_count() const;
  // Unsafe while the pool works.
  bool _unsafe_reset_threadpool(std::uint32_t count);  // NOLINT(readability-identifier-naming)
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

namespace polystate {
namespace {

// Guards the pool, which is one a process whatever we do.
std::shared_mutex& pool_mutex() {
  static std::shared_mutex mutex;
  return mutex;
}

}  // namespace

std::shared_lock<std::shared_mutex> use_thread_pool() { return std::shared_lock(pool_mutex()); }

Status set_thread_count(std::uint32_t threads) {
  const std::unique_lock lock(pool_mutex());
  auto* const pool = executorch::extension::threadpool::get_threadpool();
  if (pool != nullptr &&
      (pool->get_thread_count() == threads || pool->_unsafe_reset_threadpool(threads))) {
    return {};
  }
  return Error{ErrorCode::kEngine,
               "the engine's pool cannot have " + std::to_string(threads) + " threads"};
}

}  // namespace polystate
