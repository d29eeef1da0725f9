#include "kernels/layer_norm.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "kernels/arguments.h"
#include "kernels/operators.h"
#include "kernels/parallel.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// From so many elements on, another thread saves more time than it costs to wake.
constexpr std::int64_t kElementsWorthAThread = 8'192;
// Sums that are computed side by side.
constexpr std::size_t kLanes = 32;

struct Call {
  NamedTensor x;
  NamedTensor weight;
  NamedTensor bias;
  float eps;
  TensorArgument out;

  [[nodiscard]] int rank() const { return x.tensor.rank(); }
  [[nodiscard]] std::int64_t columns() const { return x.tensor.size(rank() - 1); }
};

struct Moments {
  float mean;
  float variance;
};

Status check(Requirements& require, Call& call) {
  require.holds(call.rank() > 0, "x is a number; it must have a dimension");
  require.floats(call.x, call.rank());
  for (const NamedTensor& each : {call.weight, call.bias}) {
    require.floats(each, 1);
    require.shape(each, {call.columns()});
  }
  call.out = require.result(DType::kFloat32, call.x.tensor.shape());
  return require.status();
}

Moments moments(std::span<const float> row) {
  const auto size = static_cast<float>(row.size());
  const std::size_t whole = row.size() / kLanes * kLanes;
  std::array<float, kLanes> sums{};
  for (std::size_t start = 0; start < whole; start += kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] += row[start + i];
  }
  for (std::size_t i = whole; i < row.size(); ++i) sums[i - whole] += row[i];
  const float mean = std::accumulate(sums.begin(), sums.end(), 0.0F) / size;

  sums = {};
  for (std::size_t start = 0; start < whole; start += kLanes) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      const float distance = row[start + i] - mean;
      sums[i] += distance * distance;
    }
  }
  for (std::size_t i = whole; i < row.size(); ++i) {
    sums[i - whole] += (row[i] - mean) * (row[i] - mean);
  }
  return {mean, std::accumulate(sums.begin(), sums.end(), 0.0F) / size};
}

void normalise(std::span<const float> row, const Call& call, float* out) {
  const auto [mean, variance] = moments(row);
  const float scale = 1 / std::sqrt(variance + call.eps);
  const float* const weight = call.weight.tensor.data<float>();
  const float* const bias = call.bias.tensor.data<float>();
  for (std::size_t i = 0; i < row.size(); ++i) {
    out[i] = (row[i] - mean) * scale * weight[i] + bias[i];
  }
}

}  // namespace

Status layer_norm(Arguments& arguments, InstructionSet set) {
  Call call{.x = {"x", arguments.tensor(0)},
            .weight = {"weight", arguments.tensor(1)},
            .bias = {"bias", arguments.tensor(2)},
            .eps = arguments.number(3),
            .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call); !checked) return checked;
  const std::int64_t columns = call.columns();
  if (columns == 0) return {};
  const float* const x = call.x.tensor.data<float>();
  float* const out = call.out.mutable_data<float>();
  const auto normalise_row = vectorised<normalise>(set);
  const auto normalise_rows = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      normalise_row({x + row * columns, static_cast<std::size_t>(columns)}, call,
                    out + row * columns);
    }
  };
  parallel_for(call.out.element_count() / columns, 1 + kElementsWorthAThread / columns,
               normalise_rows);
  return {};
}

Status LayerNorm::run(Arguments& arguments) {
  return layer_norm(arguments, best_instruction_set());
}

}  // namespace polystate
