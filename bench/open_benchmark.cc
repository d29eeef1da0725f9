// How long an artifact of 300 MB takes to open, beside hashing the same bytes. All files are in the
// page cache.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/benchmark_main.h"
#include "bench/timed.h"
#include "bench/value_or_exit.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/sha256.h"
#include "polystate/session/model.h"

namespace polystate::bench {
namespace {

void open(benchmark::State& state, const std::string& artifact, Verification verification) {
  const ModelOptions options = {.artifact = {.verification = verification}};
  for ([[maybe_unused]] const auto _ : state) {
    const auto model = timed(state, [&] { return Model::open(artifact, options); });
    if (!model) state.SkipWithError(model.error().message.c_str());
  }
}

void hash(benchmark::State& state, const std::string& directory) {
  const Artifact artifact = value_or_exit(Artifact::open(directory));
  const auto bytes = artifact.program()->bytes();
  for ([[maybe_unused]] const auto _ : state) {
    const auto digest = timed(state, [&] { return sha256_of(bytes); });
    benchmark::DoNotOptimize(digest);
  }
  state.counters["bytes"] = static_cast<double>(bytes.size());
}

void add_benchmarks(const std::string& models) {
  const std::string artifact = models + "/large";
  for (auto* const entry : {
           benchmark::RegisterBenchmark("open_verified", open, artifact, Verification::kFull),
           benchmark::RegisterBenchmark("open_trusted", open, artifact, Verification::kTrusted),
           benchmark::RegisterBenchmark("hash", hash, artifact),
       }) {
    entry->UseManualTime()->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace polystate::bench

int main(int argc, char** argv) {
  return polystate::bench::run_benchmarks(argc, argv, polystate::bench::add_benchmarks);
}
