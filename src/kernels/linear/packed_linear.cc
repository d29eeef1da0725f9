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

Status check(Requirements& require, LinearCall& call, const NamedTensor& tiles) {
  call.check_rows(require);
  require.floats(tiles, 3);
  require_columns(require, call.columns, tiles);
  require.shape(tiles, {tile_count(call.columns), call.depth(), kTileColumns});
  call.check_others(require);
  return require.status();
}

}  // namespace

Status packed_linear(Arguments& arguments, MultiplyFloats multiply) {
  const NamedTensor tiles{"tiles", arguments.tensor(1)};
  LinearCall call{.x = {"x", arguments.tensor(0)},
                  .columns = arguments.integer(2),
                  .bias = arguments.optional_tensor(3),
                  .addend = arguments.optional_tensor(4),
                  .activation_name = arguments.text(5),
                  .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call, tiles); !checked) return checked;
  if (call.out.element_count() == 0) return {};
  const FloatWeights weights{.tiles = tiles.tensor.data<float>(),
                             .bias = call.bias_data(),
                             .columns = call.columns,
                             .depth = call.depth()};
  const float* const x = call.x.tensor.data<float>();
  const ProductCost cost{.rows = call.rows(),
                         .columns = call.columns,
                         .tile_bytes = weights.tile_size() * std::int64_t{sizeof(float)},
                         .bytes_multiplied = kFloatBytesMultiplied};
  multiply_in_blocks(cost, [&](std::int64_t first, std::int64_t last, TileRange some) {
    const FloatRows rows{x + first * call.depth(), call.depth()};
    multiply(call.product(rows, weights, first), last - first, some);
  });
  return {};
}

Status PackedLinear::run(Arguments& arguments) {
  return packed_linear(arguments, fastest_multiply_floats());
}

}  // namespace polystate
