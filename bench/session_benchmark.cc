// What a second session of a model of 100 operators costs: time to open it, and memory beyond its
// state once it has run.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/benchmark_main.h"
#include "bench/resident.h"
#include "bench/timed.h"
#include "bench/value_or_exit.h"
#include "polystate/core/tensor.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"

namespace polystate::bench {
namespace {

constexpr int kSessions = 20;  // whose memory is averaged

Session new_session_that_ran(const Model& model) {
  Session session = value_or_exit(model.new_session());
  const std::vector<float> values(64, 1.0F);
  value_or_exit(session.run("step", {value_or_exit(Tensor::of({1, 64}, values))}));
  return session;
}

double bytes_beyond_state(const Model& model) {
  std::vector<Session> sessions;
  sessions.reserve(kSessions);
  const std::int64_t before = resident_bytes();
  for (int i = 0; i < kSessions; ++i) sessions.push_back(new_session_that_ran(model));
  const auto more = static_cast<double>(resident_bytes() - before);
  return more / kSessions - static_cast<double>(model.state_bytes());
}

void second_session(benchmark::State& state, const std::string& artifact) {
  const Model model = value_or_exit(Model::open(artifact));
  const Session first = new_session_that_ran(model);
  for ([[maybe_unused]] const auto _ : state) {
    const auto session = timed(state, [&] { return model.new_session(); });
    if (!session) state.SkipWithError(session.error().message.c_str());
  }
  state.counters["bytes_beyond_state"] = bytes_beyond_state(model);
}

void add_benchmarks(const std::string& models) {
  for (auto* const entry : {
           benchmark::RegisterBenchmark("second_session_portable", second_session,
                                        models + "/hundred_portable"),
           benchmark::RegisterBenchmark("second_session_xnnpack", second_session,
                                        models + "/hundred_xnnpack"),
       }) {
    entry->UseManualTime()->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace polystate::bench

int main(int argc, char** argv) {
  return polystate::bench::run_benchmarks(argc, argv, polystate::bench::add_benchmarks);
}
