#include <cstdint>

#include "kernels/arguments.h"
#include "kernels/linear/linear_call.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/operators.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "kernels/requirements.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

constexpr std::int64_t kBytesMultiplied = 400;  // in a nanosecond

Status check(const LinearCall& call, const NamedTensor& tiles) {
  Requirements require;
  call.check_rows(require);
  require.floats(tiles, 3);
  require_columns(require, call.columns, tiles);
  require.shape(tiles, {tile_count(call.columns), call.depth(), kTileColumns});
  call.check_others(require);
  return require.status();
}

}  // namespace

Status packed_linear(KernelStack stack, MultiplyFloats multiply) {
  Arguments arguments(stack, 7);
  const NamedTensor tiles{"tiles", arguments.tensor(1)};
  const LinearCall call{.x = {"x", arguments.tensor(0)},
                        .columns = arguments.integer(2),
                        .bias = arguments.optional_tensor(3),
                        .addend = arguments.optional_tensor(4),
                        .activation_name = arguments.text(5),
                        .out = arguments.tensor(6)};
  if (!arguments.status()) return arguments.status();
  if (Status checked = check(call, tiles); !checked) return checked;
  if (call.out.numel() == 0) return {};
  const FloatWeights weights{.tiles = tiles.tensor.const_data_ptr<float>(),
                             .bias = call.bias_data(),
                             .columns = call.columns,
                             .depth = call.depth()};
  const float* const x = call.x.tensor.const_data_ptr<float>();
  const ProductCost cost{.rows = call.rows(),
                         .columns = call.columns,
                         .tile_bytes = weights.tile_size() * std::int64_t{sizeof(float)},
                         .bytes_multiplied = kBytesMultiplied};
  multiply_in_blocks(cost, [&](std::int64_t first, std::int64_t last, TileRange some) {
    const FloatRows rows{x + first * call.depth(), call.depth()};
    multiply(call.product(rows, weights, first), last - first, some);
  });
  return {};
}

Status PackedLinear::run(KernelStack stack) {
  return packed_linear(stack, fastest_multiply_floats());
}

}  // namespace polystate
