#include "engine/tasks.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

#include "kernels/parallel.h"

namespace polystate {

void run_tasks(std::size_t count, const std::function<void(std::size_t index)>& task) {
  std::mutex mutex;
  std::exception_ptr failure;  // of the first task that throws
  const auto run = [&](std::int64_t first, std::int64_t last) {
    try {
      for (std::int64_t i = first; i < last; ++i) task(static_cast<std::size_t>(i));
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (failure == nullptr) failure = std::current_exception();
    }
  };
  parallel_for(static_cast<std::int64_t>(count), 1, run);
  if (failure != nullptr) std::rethrow_exception(failure);
}

}  // namespace polystate
