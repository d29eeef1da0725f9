// What a step of attention costs over a cache of pages, for every instruction set that the machine
// has: one token a row, as a decoder's, or a chunk of a prompt. Bytes are those of the cache that
// the rows have.
#include <benchmark/benchmark.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/evalue.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/operators.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate::bench {
namespace {

using executorch::extension::make_tensor_ptr;
using executorch::extension::TensorPtr;
using executorch::runtime::EValue;

constexpr int kHeads = 8;
constexpr int kDim = 64;
constexpr int kPage = 16;

TensorPtr floats(std::vector<int> sizes) {
  const int count = std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
  return make_tensor_ptr(std::move(sizes),
                         std::vector<float>(static_cast<std::size_t>(count), 0.1F));
}

struct Step {
  int rows;
  int tokens;  // of each row, its last ones
  int length;  // of each row
};

void attend(benchmark::State& state, const AttendFunctions& functions, Step step) {
  const int row_pages = (step.length + kPage - 1) / kPage;
  const int tokens = step.rows * step.tokens;
  std::vector<std::int64_t> pages(static_cast<std::size_t>(step.rows * row_pages));
  std::iota(pages.begin(), pages.end(), 0);
  std::vector<std::int64_t> places;
  std::vector<std::int64_t> owners;
  for (int token = 0; token < tokens; ++token) {
    places.push_back(step.length - step.tokens + token % step.tokens);
    owners.push_back(token / step.tokens);
  }
  const TensorPtr query = floats({tokens, kHeads, kDim});
  const TensorPtr key = floats({tokens, kHeads, kDim});
  const TensorPtr key_pool = floats({step.rows * row_pages, kHeads, kDim, kPage});
  const TensorPtr value_pool = floats({step.rows * row_pages, kHeads, kPage, kDim});
  const TensorPtr table = make_tensor_ptr({step.rows, row_pages}, pages);
  const TensorPtr positions = make_tensor_ptr({tokens}, places);
  const TensorPtr rows = make_tensor_ptr({tokens}, owners);
  const TensorPtr out = floats({tokens, kHeads, kDim});
  std::vector<EValue> values = {*query,          *key,  *key,     *key_pool, *value_pool, *table,
                                *positions,      *rows, EValue(), EValue(),  0.125,       0.0,
                                std::int64_t{0}, *out,  *out};
  std::vector<EValue*> stack;
  stack.reserve(values.size());
  for (EValue& value : values) {
    stack.push_back(&value);
  }
  for ([[maybe_unused]] const auto _ : state) {
    ProgramArguments arguments(stack, PagedAttention::kSchema.argument_count());
    const Status status = paged_attention(arguments, functions);
    if (!status) state.SkipWithError(status.error().message.c_str());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * step.rows * step.length * kHeads * kDim *
                          static_cast<std::int64_t>(sizeof(float)));
}

void add_benchmarks() {
  constexpr std::pair<InstructionSet, const char*> kSets[] = {{InstructionSet::kScalar, "scalar"},
                                                              {InstructionSet::kNeon, "neon"},
                                                              {InstructionSet::kAvx2, "avx2"},
                                                              {InstructionSet::kAvx512, "avx512"}};
  constexpr Step kSteps[] = {{1, 1, 24},   {1, 1, 128},  {8, 1, 200},  {8, 1, 1000},
                             {32, 1, 24},  {32, 1, 128}, {128, 1, 24}, {128, 1, 128},
                             {1, 64, 200}, {1, 64, 1000}};
  for (const auto& [set, name] : kSets) {
    if (!is_available(set)) continue;
    for (const Step& step : kSteps) {
      const std::string label = std::string(name) + "/rows:" + std::to_string(step.rows) +
                                "/tokens:" + std::to_string(step.tokens) +
                                "/length:" + std::to_string(step.length);
      benchmark::RegisterBenchmark(label.c_str(), attend, attend_functions(set), step)
          ->UseRealTime()
          ->MeasureProcessCPUTime();
    }
  }
}

}  // namespace
}  // namespace polystate::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  polystate::bench::add_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
