#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "kernels/requirements.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

struct Call {
  NamedTensor ids;
  NamedTensor tiles;
  NamedTensor scales;
  std::int64_t depth;
  EtTensor out;
};

Status check(const Call& call) {
  const std::int64_t columns = call.scales.tensor.numel();
  Requirements require;
  require.integers(call.ids, static_cast<int>(call.ids.tensor.dim()));
  require.floats(call.scales, 1);
  require.between(call.ids, 0, columns - 1);
  require.bytes(call.tiles, 4);
  require.holds(call.depth > 0, "a depth of " + std::to_string(call.depth));
  require.shape(call.tiles, {tile_count(columns), QuantizedWeights::groups(call.depth),
                             kTileColumns, QuantizedWeights::kTileDepth});
  std::vector<std::int64_t> shape(call.ids.tensor.sizes().begin(), call.ids.tensor.sizes().end());
  shape.push_back(call.depth);
  require.floats({"out", call.out}, static_cast<int>(shape.size()));
  require.resize(call.out, shape);
  return require.status();
}

}  // namespace

Status QuantizedEmbedding::run(KernelStack stack) {
  Arguments arguments(stack, 5);
  const Call call{.ids = {"ids", arguments.tensor(0)},
                  .tiles = {"tiles", arguments.tensor(1)},
                  .scales = {"scales", arguments.tensor(2)},
                  .depth = arguments.integer(3),
                  .out = arguments.tensor(4)};
  if (!arguments.status()) return arguments.status();
  if (Status checked = check(call); !checked) return checked;
  const std::int8_t* const tiles = call.tiles.tensor.const_data_ptr<std::int8_t>();
  const float* const scales = call.scales.tensor.const_data_ptr<float>();
  const std::int64_t groups = size_of(call.tiles.tensor, 1);
  std::span<float> out(call.out.mutable_data_ptr<float>(),
                       static_cast<std::size_t>(call.out.numel()));
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
