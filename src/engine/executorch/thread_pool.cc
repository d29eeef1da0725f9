#include "engine/executorch/thread_pool.h"

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "kernels/parallel.h"
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

std::mutex& pool_mutex() {
  static std::mutex mutex;
  return mutex;
}

// How many sessions use the pool; guarded by the mutex.
std::size_t& pool_users() {
  static std::size_t users = 0;
  return users;
}

}  // namespace

ThreadPoolUse::ThreadPoolUse() {
  const std::lock_guard lock(pool_mutex());
  ++pool_users();
}

ThreadPoolUse::~ThreadPoolUse() {
  const std::lock_guard lock(pool_mutex());
  --pool_users();
}

Status set_thread_count(std::uint32_t threads) {
  const std::lock_guard lock(pool_mutex());
  auto* const pool = executorch::extension::threadpool::get_threadpool();
  const std::size_t found = pool == nullptr ? 0 : pool->get_thread_count();
  if (found == threads) return {};
  const std::string wanted = std::to_string(threads);
  if (pool_users() > 0) {
    return Error{ErrorCode::kEngine,
                 "the engine's pool, which the whole process shares, has " + std::to_string(found) +
                     " threads and is in use (sessions: " + std::to_string(pool_users()) +
                     "): close them before it gets " + wanted};
  }
  if (pool != nullptr && pool->_unsafe_reset_threadpool(threads)) return {};
  return Error{ErrorCode::kEngine, "the engine's pool cannot have " + wanted + " threads"};
}

void share_thread_count() {
  const std::lock_guard lock(pool_mutex());
  const auto* const pool = executorch::extension::threadpool::get_threadpool();
  if (pool != nullptr) use_threads(static_cast<std::int64_t>(pool->get_thread_count()));
}

SingleThread::SingleThread(bool wanted) {
  if (!wanted) return;
  no_pool_.emplace();
  no_team_.emplace();
}

}  // namespace polystate
