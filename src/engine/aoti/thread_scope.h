#pragma once

#include <optional>

#include "kernels/parallel.h"

namespace polystate {

// How many threads the code of methods and of libtorch, which have OpenMP's, and polystate's
// kernels use for what this thread calls while it exists.
class ThreadScope {
 public:
  // As many as there are for the process, or this one alone.
  explicit ThreadScope(bool single_threaded);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
  std::optional<SerialKernels> serial_;
};

}  // namespace polystate
