#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "polystate/core/result.h"

namespace polystate::bench {

// The value, or the end of the program: a benchmark that cannot run has nothing to say.
template <typename T>
T value_or_exit(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "benchmark: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  return *std::move(result);
}

}  // namespace polystate::bench
