#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/half.h"
#include "kernels/arguments.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "kernels/requirements.h"
#include "kernels/tensor_argument.h"
#include "kernels/vectors/half.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

struct Call {
  NamedTensor ids;
  NamedTensor tiles;
  NamedTensor scales;
  std::int64_t columns;
  std::int64_t depth;
  TensorArgument out;
};

Status check(Requirements& require, Call& call) {
  require.integers(call.ids, call.ids.tensor.rank());
  require.holds(call.columns >= 0, "columns is " + std::to_string(call.columns));
  require.indices(call.ids, call.columns);
  require.holds(call.depth > 0, "a depth of " + std::to_string(call.depth));
  const std::int64_t groups = GroupwiseWeights::groups(call.depth);
  require.bytes(call.tiles, 4);
  require.shape(call.tiles, {tile_count(call.columns), groups * GroupwiseWeights::kStepsOfGroup,
                             kTileColumns, GroupwiseWeights::kTileDepth});
  require.halves(call.scales, 3);
  require.shape(call.scales, {tile_count(call.columns), groups, kTileColumns});
  std::vector<std::int64_t> shape(call.ids.tensor.shape().begin(), call.ids.tensor.shape().end());
  shape.push_back(call.depth);
  call.out = require.result(DType::kFloat32, shape);
  return require.status();
}

}  // namespace

Status GroupwiseEmbedding::run(Arguments& arguments) {
  Call call{.ids = {"ids", arguments.tensor(0)},
            .tiles = {"tiles", arguments.tensor(1)},
            .scales = {"scales", arguments.tensor(2)},
            .columns = arguments.integer(3),
            .depth = arguments.integer(4),
            .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call); !checked) return checked;
  constexpr std::int64_t kTileDepth = GroupwiseWeights::kTileDepth;
  const std::int8_t* const tiles = call.tiles.tensor.data<std::int8_t>();
  const Half* const scales = reinterpret_cast<const Half*>(call.scales.tensor.bytes());
  const std::int64_t groups = call.scales.tensor.size(1);
  std::span<float> out(call.out.mutable_data<float>(),
                       static_cast<std::size_t>(call.out.element_count()));
  for (const std::int64_t id : integers_of(call.ids.tensor)) {
    const std::int64_t tile = id / kTileColumns * groups;
    const std::int64_t column = id % kTileColumns;
    for (std::int64_t i = 0; i < call.depth; ++i) {
      const std::int64_t step = tile * GroupwiseWeights::kStepsOfGroup + i / kTileDepth;
      const std::int8_t value = tiles[(step * kTileColumns + column) * kTileDepth + i % kTileDepth];
      const std::int64_t group = tile + i / GroupwiseWeights::kGroupDepth;
      const float scale = float16_to_float(scales[group * kTileColumns + column].bits);
      out[static_cast<std::size_t>(i)] = scale * static_cast<float>(value);
    }
    out = out.subspan(static_cast<std::size_t>(call.depth));
  }
  return {};
}

}  // namespace polystate
