#pragma once

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
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

// Reads Google Benchmark's options and the folder of the models, which is the only other argument;
// then has `add` add the benchmarks, and runs them.
template <typename AddBenchmarks>
int run_benchmarks(int argc, char** argv, const AddBenchmarks& add) {
  benchmark::Initialize(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s [--benchmark_...] MODELS\n", argv[0]);
    return 2;
  }
  add(std::string(argv[1]));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace polystate::bench
