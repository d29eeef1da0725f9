#include <cstddef>
#include <cstdint>
#include <vector>

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

constexpr std::int64_t kBytesMultiplied = 250;  // in a nanosecond

struct Weights {
  NamedTensor tiles;
  NamedTensor scales;
  NamedTensor sums;
};

Status check(Requirements& require, LinearCall& call, const Weights& weights) {
  call.check_rows(require);
  require.floats(weights.scales, 1);
  require.bytes(weights.tiles, 4);
  require.shape(weights.tiles, {tile_count(call.columns), QuantizedWeights::groups(call.depth()),
                                kTileColumns, QuantizedWeights::kTileDepth});
  require.small_integers(weights.sums, 1);
  require.shape(weights.sums, {call.columns});
  call.check_others(require);
  return require.status();
}

// The rows of x in 8 bits.
class Activations {
 public:
  Activations(const LinearCall& call, const QuantizedLinearFunctions& functions)
      : stride_(QuantizedWeights::groups(call.depth()) * QuantizedWeights::kTileDepth *
                functions.value_bytes),
        values_(scratch_bytes(static_cast<std::size_t>(call.rows() * stride_))),
        scales_(static_cast<std::size_t>(call.rows())) {
    quantize_rows(call, [&](std::int64_t row, const float* x) {
      scales_[static_cast<std::size_t>(row)] =
          functions.quantize(x, call.depth(), values_ + row * stride_);
    });
  }

  [[nodiscard]] QuantizedRows from(std::int64_t row) const {
    return {values_ + row * stride_, stride_, scales_.data() + row};
  }

 private:
  std::int64_t stride_;
  std::uint8_t* values_;
  std::vector<RowScale> scales_;
};

}  // namespace

Status quantized_linear(Arguments& arguments, const QuantizedLinearFunctions& functions) {
  const Weights given{.tiles = {"tiles", arguments.tensor(1)},
                      .scales = {"scales", arguments.tensor(2)},
                      .sums = {"sums", arguments.tensor(3)}};
  LinearCall call{.x = {"x", arguments.tensor(0)},
                  .columns = 0,
                  .bias = arguments.optional_tensor(4),
                  .addend = arguments.optional_tensor(5),
                  .activation_name = arguments.text(6),
                  .out = {}};
  Requirements require(arguments);
  call.columns = given.scales.tensor.element_count();
  if (Status checked = check(require, call, given); !checked) return checked;
  if (call.out.element_count() == 0) return {};
  const QuantizedWeights weights{.tiles = given.tiles.tensor.data<std::int8_t>(),
                                 .scales = given.scales.tensor.data<float>(),
                                 .sums = given.sums.tensor.data<std::int32_t>(),
                                 .bias = call.bias_data(),
                                 .columns = call.columns,
                                 .depth = call.depth()};
  const Activations activations(call, functions);
  const ProductCost cost{.rows = call.rows(),
                         .columns = call.columns,
                         .tile_bytes = weights.tile_size(),
                         .bytes_multiplied = kBytesMultiplied};
  multiply_in_blocks(cost, [&](std::int64_t first, std::int64_t last, TileRange tiles) {
    functions.multiply(call.product(activations.from(first), weights, first), last - first, tiles);
  });
  return {};
}

Status QuantizedLinear::run(Arguments& arguments) {
  return quantized_linear(arguments, fastest_quantized_linear_functions());
}

}  // namespace polystate
