// What a call costs beyond the computation, contract checks and owned outputs included:
// Session::run on either engine, and beside it ExecuTorch's own Module::execute, on the same
// program in the same process.
#include <benchmark/benchmark.h>
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/evalue.h>

#include <cstddef>
#include <string>
#include <vector>

#include "bench/benchmark_main.h"
#include "bench/value_or_exit.h"
#include "polystate/core/tensor.h"
#include "polystate/session/model.h"
#include "polystate/session/session.h"

namespace polystate::bench {
namespace {

// Of each input: [2, 4].
constexpr std::size_t kElements = 8;

void session_run(benchmark::State& state, const std::string& artifact) {
  const Model model = value_or_exit(Model::open(artifact, {.trust_code = true}));
  Session session = value_or_exit(model.new_session());
  const std::vector<float> values(kElements, 1.0F);
  const std::vector<Tensor> inputs(2, value_or_exit(Tensor::of({2, 4}, values)));
  for ([[maybe_unused]] const auto _ : state) {
    const auto outputs = session.run("add", inputs);
    if (!outputs) state.SkipWithError(outputs.error().message.c_str());
    benchmark::DoNotOptimize(outputs);
  }
}

void module_execute(benchmark::State& state, const std::string& artifact) {
  namespace et = executorch::extension;
  // A session registers polystate's kernels, which the program has.
  const Model model = value_or_exit(Model::open(artifact));
  const Session session = value_or_exit(model.new_session());
  et::Module module(artifact + "/model.pte", et::Module::LoadMode::File);
  if (module.load_method("add") != executorch::runtime::Error::Ok) {
    return state.SkipWithError("Module cannot load the method");
  }
  const et::TensorPtr tensor = et::make_tensor_ptr({2, 4}, std::vector<float>(kElements, 1.0F));
  const std::vector<executorch::runtime::EValue> inputs(2, *tensor);
  for ([[maybe_unused]] const auto _ : state) {
    const auto outputs = module.execute("add", inputs);
    if (!outputs.ok()) state.SkipWithError("Module cannot execute the method");
    benchmark::DoNotOptimize(outputs);
  }
}

void add_benchmarks(const std::string& models) {
  benchmark::RegisterBenchmark("session_run", session_run, models + "/trivial");
  benchmark::RegisterBenchmark("session_run_aoti", session_run, models + "/trivial_aoti");
  benchmark::RegisterBenchmark("module_execute", module_execute, models + "/trivial");
}

}  // namespace
}  // namespace polystate::bench

int main(int argc, char** argv) {
  return polystate::bench::run_benchmarks(argc, argv, polystate::bench::add_benchmarks);
}
