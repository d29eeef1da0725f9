#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "polystate/core/result.h"

namespace polystate::bench {

// Ends the program after a failure: a benchmark that cannot run has nothing to say.
inline void done_or_exit(const Status& done) {
  if (done) return;
  std::fprintf(stderr, "benchmark: %s\n", done.error().message.c_str());
  std::exit(1);
}

// The value, or the end of the program.
template <typename T>
T value_or_exit(Result<T> result) {
  if (!result) done_or_exit(result.error());
  return *std::move(result);
}

}  // namespace polystate::bench
