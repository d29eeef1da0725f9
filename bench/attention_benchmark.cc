// What a decoder's step of attention costs: one token a row over a cache of pages, for every
// instruction set that the machine has. Bytes are those of the cache that is read.
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

#include "engine/executorch/operators/program_arguments.h"
#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/operators.h"
#include "kernels/instruction_set.h"
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

void decode_step(benchmark::State& state, const AttendFunctions& functions, int rows, int length) {
  const int row_pages = (length + kPage - 1) / kPage;
  std::vector<std::int64_t> pages(static_cast<std::size_t>(rows * row_pages));
  std::iota(pages.begin(), pages.end(), 0);
  const TensorPtr query = floats({rows, 1, kHeads, kDim});
  const TensorPtr key = floats({rows, 1, kHeads, kDim});
  const TensorPtr key_pool = floats({rows * row_pages, kHeads, kDim, kPage});
  const TensorPtr value_pool = floats({rows * row_pages, kHeads, kPage, kDim});
  const TensorPtr table = make_tensor_ptr({rows, row_pages}, pages);
  const TensorPtr positions = make_tensor_ptr(
      {rows}, std::vector<std::int64_t>(static_cast<std::size_t>(rows), length - 1));
  const TensorPtr out = floats({rows, 1, kHeads, kDim});
  std::vector<EValue> values = {
      *query,   *key,     *key,  *key_pool, *value_pool,     *table, *positions,
      EValue(), EValue(), 0.125, 0.0,       std::int64_t{0}, *out,   *out};
  std::vector<EValue*> stack;
  stack.reserve(values.size());
  for (EValue& value : values) {
    stack.push_back(&value);
  }
  for ([[maybe_unused]] const auto _ : state) {
    ProgramArguments arguments(stack, PagedAttention::kArguments);
    const Status status = paged_attention(arguments, functions);
    if (!status) state.SkipWithError(status.error().message.c_str());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * rows * length * kHeads * kDim *
                          static_cast<std::int64_t>(sizeof(float)));
}

void add_benchmarks() {
  constexpr std::pair<InstructionSet, const char*> kSets[] = {{InstructionSet::kScalar, "scalar"},
                                                              {InstructionSet::kNeon, "neon"},
                                                              {InstructionSet::kAvx2, "avx2"},
                                                              {InstructionSet::kAvx512, "avx512"}};
  for (const auto& [set, name] : kSets) {
    for (const int rows : {1, 32, 128}) {
      for (const int length : {24, 128}) {
        if (is_available(set)) {
          const std::string label = std::string(name) + "/rows:" + std::to_string(rows) +
                                    "/length:" + std::to_string(length);
          benchmark::RegisterBenchmark(label.c_str(), decode_step, attend_functions(set), rows,
                                       length)
              ->UseRealTime()
              ->MeasureProcessCPUTime();
        }
      }
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
