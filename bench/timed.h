#pragma once

#include <benchmark/benchmark.h>

#include <chrono>

namespace polystate::bench {

// Calls `action`, counts its time as one iteration's (the benchmark uses manual time), and returns
// what it gave: the end of that object's life is not timed.
template <typename Action>
auto timed(benchmark::State& state, const Action& action) {
  const auto start = std::chrono::steady_clock::now();
  auto result = action();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  state.SetIterationTime(elapsed.count());
  return result;
}

}  // namespace polystate::bench
