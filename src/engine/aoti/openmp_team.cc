#include "engine/aoti/openmp_team.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <system_error>
#include <thread>

// What compilers make of `#pragma omp parallel`, and OpenMP's API, declared here since its header
// is a compiler's own.
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming)
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num();
int omp_get_max_threads();
}

namespace polystate {

std::int64_t openmp_threads() {
  // Each thread has a number of its own, which others may have set on this one.
  int count = 1;
  try {
    std::thread([&count] { count = omp_get_max_threads(); }).join();
  } catch (const std::system_error&) {
    return 1;  // there can be no other thread
  }
  return count;
}

void run_on_openmp(std::int64_t threads, const std::function<void(std::size_t number)>& task) {
  const auto body = [](void* data) {
    const auto& called = *static_cast<const std::function<void(std::size_t number)>*>(data);
    called(static_cast<std::size_t>(omp_get_thread_num()));
  };
  // Always of all threads: OpenMP ends those that a smaller region does not need.
  GOMP_parallel(body, const_cast<std::function<void(std::size_t number)>*>(&task),
                static_cast<unsigned>(threads), 0);
}

}  // namespace polystate
