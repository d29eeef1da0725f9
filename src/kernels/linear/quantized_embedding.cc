#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

struct Call {
  NamedTensor ids;
  NamedTensor tiles;
  NamedTensor scales;
  std::int64_t depth;
  TensorArgument out;
};

Status check(Requirements& require, Call& call) {
  const std::int64_t columns = call.scales.tensor.element_count();
  require.integers(call.ids, call.ids.tensor.rank());
  require.floats(call.scales, 1);
  require.indices(call.ids, columns);
  require.bytes(call.tiles, 4);
  require.holds(call.depth > 0, "a depth of " + std::to_string(call.depth));
  require.shape(call.tiles, {tile_count(columns), QuantizedWeights::groups(call.depth),
                             kTileColumns, QuantizedWeights::kTileDepth});
  std::vector<std::int64_t> shape(call.ids.tensor.shape().begin(), call.ids.tensor.shape().end());
  shape.push_back(call.depth);
  call.out = require.result(DType::kFloat32, shape);
  return require.status();
}

}  // namespace

Status QuantizedEmbedding::run(Arguments& arguments) {
  Call call{.ids = {"ids", arguments.tensor(0)},
            .tiles = {"tiles", arguments.tensor(1)},
            .scales = {"scales", arguments.tensor(2)},
            .depth = arguments.integer(3),
            .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call); !checked) return checked;
  const std::int8_t* const tiles = call.tiles.tensor.data<std::int8_t>();
  const float* const scales = call.scales.tensor.data<float>();
  const std::int64_t groups = call.tiles.tensor.size(1);
  std::span<float> out(call.out.mutable_data<float>(),
                       static_cast<std::size_t>(call.out.element_count()));
  for (const std::int64_t id : integers_of(call.ids.tensor)) {
    const std::int64_t first = (id / kTileColumns * groups) * kTileColumns + id % kTileColumns;
    for (std::int64_t i = 0; i < call.depth; ++i) {
      const std::int64_t group = first + i / QuantizedWeights::kTileDepth * kTileColumns;
      const std::int8_t value =
          tiles[group * QuantizedWeights::kTileDepth + i % QuantizedWeights::kTileDepth];
      out[static_cast<std::size_t>(i)] = scales[id] * static_cast<float>(value);
    }
    out = out.subspan(static_cast<std::size_t>(call.depth));
  }
  return {};
}

}  // namespace polystate
