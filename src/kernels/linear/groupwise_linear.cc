#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/linear/linear_call.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/operators.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "kernels/requirements.h"
#include "kernels/vectors/half.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

constexpr std::int64_t kBytesMultiplied = 200;  // in a nanosecond

Status check(Requirements& require, LinearCall& call, const NamedTensor& tiles,
             const NamedTensor& scales) {
  call.check_rows(require);
  const std::int64_t groups = GroupwiseWeights::groups(call.depth());
  require.bytes(tiles, 4);
  require.holds(call.columns >= 0, "columns is " + std::to_string(call.columns));
  require.shape(tiles, {tile_count(call.columns), groups * GroupwiseWeights::kStepsOfGroup,
                        kTileColumns, GroupwiseWeights::kTileDepth});
  require.halves(scales, 3);
  require.shape(scales, {tile_count(call.columns), groups, kTileColumns});
  call.check_others(require);
  return require.status();
}

// The rows of x in 8 bits.
class Activations {
 public:
  Activations(const LinearCall& call, const GroupwiseLinearFunctions& functions)
      : groups_(GroupwiseWeights::groups(call.depth())),
        scales_(static_cast<std::size_t>(call.rows() * groups_)) {
    const std::int64_t stride = groups_ * GroupwiseWeights::kGroupDepth;
    auto* const values = reinterpret_cast<std::int8_t*>(
        scratch_bytes(static_cast<std::size_t>(call.rows() * stride)));
    quantize_rows(call, [&](std::int64_t row, const float* x) {
      functions.quantize(x, call.depth(), values + row * stride, scales_.data() + row * groups_);
    });
    values_ = values;
  }

  [[nodiscard]] GroupwiseRows from(std::int64_t row) const {
    const std::int64_t group = row * groups_;
    return {values_ + group * GroupwiseWeights::kGroupDepth, scales_.data() + group, groups_};
  }

 private:
  std::int64_t groups_;
  const std::int8_t* values_;
  std::vector<GroupScale> scales_;
};

}  // namespace

Status groupwise_linear(Arguments& arguments, const GroupwiseLinearFunctions& functions) {
  const NamedTensor tiles{"tiles", arguments.tensor(1)};
  const NamedTensor scales{"scales", arguments.tensor(2)};
  LinearCall call{.x = {"x", arguments.tensor(0)},
                  .columns = arguments.integer(3),
                  .bias = arguments.optional_tensor(4),
                  .addend = arguments.optional_tensor(5),
                  .activation_name = arguments.text(6),
                  .out = {}};
  Requirements require(arguments);
  if (Status checked = check(require, call, tiles, scales); !checked) return checked;
  if (call.out.element_count() == 0) return {};
  const GroupwiseWeights weights{.tiles = tiles.tensor.data<std::int8_t>(),
                                 .scales = reinterpret_cast<const Half*>(scales.tensor.bytes()),
                                 .bias = call.bias_data(),
                                 .columns = call.columns,
                                 .depth = call.depth()};
  const Activations activations(call, functions);
  const ProductCost cost{.rows = call.rows(),
                         .columns = call.columns,
                         .tile_bytes = weights.tile_size(),
                         .bytes_multiplied = kBytesMultiplied};
  multiply_in_blocks(cost, [&](std::int64_t first, std::int64_t last, TileRange range) {
    functions.multiply(call.product(activations.from(first), weights, first), last - first, range);
  });
  return {};
}

Status GroupwiseLinear::run(Arguments& arguments) {
  return groupwise_linear(arguments, fastest_groupwise_linear_functions());
}

}  // namespace polystate
