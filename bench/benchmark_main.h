#pragma once

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string>

namespace polystate::bench {

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
