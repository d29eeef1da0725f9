#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/linear/linear_call.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "kernels/requirements.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

struct Call {
  NamedTensor ids;
  NamedTensor tiles;
  std::int64_t columns;
  EtTensor out;

  [[nodiscard]] std::int64_t depth() const { return size_of(tiles.tensor, 1); }
};

Status check(const Call& call) {
  Requirements require;
  require.integers(call.ids, static_cast<int>(call.ids.tensor.dim()));
  require.floats(call.tiles, 3);
  require_columns(require, call.columns, call.tiles);
  require.shape(call.tiles, {tile_count(call.columns), -1, kTileColumns});
  require.between(call.ids, 0, call.columns - 1);
  std::vector<std::int64_t> shape(call.ids.tensor.sizes().begin(), call.ids.tensor.sizes().end());
  shape.push_back(call.depth());
  require.floats({"out", call.out}, static_cast<int>(shape.size()));
  require.resize(call.out, shape);
  return require.status();
}

}  // namespace

Status PackedEmbedding::run(KernelStack stack) {
  Arguments arguments(stack, 4);
  const Call call{.ids = {"ids", arguments.tensor(0)},
                  .tiles = {"tiles", arguments.tensor(1)},
                  .columns = arguments.integer(2),
                  .out = arguments.tensor(3)};
  if (!arguments.status()) return arguments.status();
  if (Status checked = check(call); !checked) return checked;
  const float* const tiles = call.tiles.tensor.const_data_ptr<float>();
  const std::int64_t depth = call.depth();
  std::span<float> out(call.out.mutable_data_ptr<float>(),
                       static_cast<std::size_t>(call.out.numel()));
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
