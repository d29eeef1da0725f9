#include "engine/aoti/thread_scope.h"

#include "kernels/parallel.h"

// OpenMP's API, declared here since its header is a compiler's own.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int count);
}

namespace polystate {

ThreadScope::ThreadScope(bool single_threaded) : before_(omp_get_max_threads()) {
  if (single_threaded) serial_.emplace();
  omp_set_num_threads(static_cast<int>(thread_count()));
}

ThreadScope::~ThreadScope() { omp_set_num_threads(before_); }

}  // namespace polystate
