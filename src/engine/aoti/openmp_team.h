#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace polystate {

// How many threads OpenMP has where nothing was asked of it: one per core, or as many as
// OMP_NUM_THREADS says.
std::int64_t openmp_threads();

// A TeamRun on OpenMP's threads, which loops of methods and libtorch have: a processor that its
// threads watch for their next loop on is no other team's.
void run_on_openmp(std::int64_t threads, const std::function<void(std::size_t number)>& task);

}  // namespace polystate
