#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/linear/linear_call.h"
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
  std::int64_t columns;
  TensorArgument out;

  [[nodiscard]] std::int64_t depth() const { return tiles.tensor.size(1); }
};

Status check(Requirements& require, Call& call) {
  require.integers(call.ids, call.ids.tensor.rank());
  require.floats(call.tiles, 3);
  require_columns(require, call.columns, call.tiles);
  require.shape(call.tiles, {tile_count(call.columns), -1, kTileColumns});
  require.indices(call.ids, call.columns);
  std::vector<std::int64_t> shape(call.ids.tensor.shape().begin(), call.ids.tensor.shape().end());
  shape.push_back(call.depth());
  call.out = require.result(DType::kFloat32, shape);
  return require.status();
}

}  // namespace

Status PackedEmbedding::run(Arguments& arguments) {
  Call call{.ids = {"ids", arguments.tensor(0)},
            .tiles = {"tiles", arguments.tensor(1)},
            .columns = arguments.integer(2),
            .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call); !checked) return checked;
  const float* const tiles = call.tiles.tensor.data<float>();
  const std::int64_t depth = call.depth();
  std::span<float> out(call.out.mutable_data<float>(),
                       static_cast<std::size_t>(call.out.element_count()));
  for (const std::int64_t id : integers_of(call.ids.tensor)) {
    const float* const row = tiles + id / kTileColumns * depth * kTileColumns + id % kTileColumns;
    for (std::int64_t i = 0; i < depth; ++i) {
      out[static_cast<std::size_t>(i)] = row[i * kTileColumns];
    }
    out = out.subspan(static_cast<std::size_t>(depth));
  }
  return {};
}

}  // namespace polystate
