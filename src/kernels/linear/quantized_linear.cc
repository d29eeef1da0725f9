#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/operators.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/operators.h"
#include "kernels/parallel.h"
#include "kernels/requirements.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// Rows that are multiplied together at the most, so that they stay in the cache beside the weights;
// tiles.
constexpr std::int64_t kBlockRows = 96;
constexpr std::int64_t kBlockTiles = 4;

// Rows of a thread that make it worth to divide a product by rows: what is computed of a row then
// stays in the cache of one processor. Fewer are divided by columns, for every weight to be read
// once.
constexpr std::int64_t kRowsOfAThread = 32;

// Work of a thread that is worth waking it, in nanoseconds, and what takes one.
constexpr std::int64_t kWorthAThread = 2'000;
constexpr std::int64_t kMultiplications = 250;
constexpr std::int64_t kBytesRead = 25;
constexpr std::int64_t kValuesQuantized = 8;

// More would not fit a sum of 32 bits.
constexpr std::int64_t kLargestDepth = 65'536;

struct Call {
  NamedTensor x;
  NamedTensor tiles;
  NamedTensor scales;
  NamedTensor sums;
  std::optional<EtTensor> bias;
  std::optional<EtTensor> addend;
  std::string_view activation_name;
  std::optional<Activation> activation;
  EtTensor out;

  [[nodiscard]] std::int64_t depth() const { return size_of(x.tensor, rank() - 1); }
  [[nodiscard]] std::int64_t columns() const { return scales.tensor.numel(); }
  [[nodiscard]] std::int64_t rows() const {
    return depth() == 0 ? 0 : static_cast<std::int64_t>(x.tensor.numel()) / depth();
  }
  [[nodiscard]] int rank() const { return static_cast<int>(x.tensor.dim()); }
};

std::optional<Activation> activation_named(std::string_view name) {
  if (name == "none") return Activation::kNone;
  if (name == "relu") return Activation::kRelu;
  if (name == "silu") return Activation::kSilu;
  return std::nullopt;
}

std::int64_t blocks(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

Status check(const Call& call) {
  Requirements require;
  require.holds(call.rank() > 0, "x is a number; it must have a dimension");
  require.floats(call.x, std::max(call.rank(), 1));
  require.holds(call.depth() > 0 && call.depth() <= kLargestDepth,
                "rows of x have " + std::to_string(call.depth()) + " values; there may be 1 to " +
                    std::to_string(kLargestDepth));
  require.floats(call.scales, 1);
  require.bytes(call.tiles, 4);
  require.shape(call.tiles,
                {tile_count(call.columns()), depth_groups(call.depth()), kTileColumns, kTileDepth});
  require.small_integers(call.sums, 1);
  require.shape(call.sums, {call.columns()});
  if (call.bias) {
    const NamedTensor bias{"bias", *call.bias};
    require.floats(bias, 1);
    require.shape(bias, {call.columns()});
  }
  require.holds(call.activation.has_value(), "the activation is '" +
                                                 std::string(call.activation_name) +
                                                 "'; it may be none, relu or silu");
  require.floats({"out", call.out}, call.rank());
  std::vector<std::int64_t> shape(call.x.tensor.sizes().begin(), call.x.tensor.sizes().end());
  if (!shape.empty()) shape.back() = call.columns();
  if (call.addend) {
    const NamedTensor addend{"addend", *call.addend};
    require.floats(addend, call.rank());
    require.shape(addend, shape);
  }
  require.resize(call.out, shape);
  return require.status();
}

// Memory of the calling thread, until its next call: allocated anew, it would be cleared each time.
std::uint8_t* scratch(std::size_t size) {
  thread_local std::vector<std::uint8_t> memory;
  if (memory.size() < size) memory.resize(size);
  return memory.data();
}

// The rows of x in 8 bits.
class Activations {
 public:
  Activations(const Call& call, const LinearFunctions& functions)
      : stride_(depth_groups(call.depth()) * kTileDepth),
        values_(scratch(static_cast<std::size_t>(call.rows() * stride_))),
        scales_(static_cast<std::size_t>(call.rows())) {
    const float* const x = call.x.tensor.const_data_ptr<float>();
    const std::int64_t depth = call.depth();
    const auto quantize = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        scales_[static_cast<std::size_t>(row)] =
            functions.quantize(x + row * depth, depth, values_ + row * stride_);
      }
    };
    const std::int64_t cost = std::max<std::int64_t>(depth, 1) / kValuesQuantized + 1;
    parallel_for(call.rows(), 1 + kWorthAThread / cost, quantize);
  }

  [[nodiscard]] QuantizedRows from(std::int64_t row) const {
    return {values_ + row * stride_, scales_.data() + row, stride_};
  }

 private:
  std::int64_t stride_;
  std::uint8_t* values_;
  std::vector<RowScale> scales_;
};

PackedWeights weights_of(const Call& call) {
  return {
      .tiles = call.tiles.tensor.const_data_ptr<std::int8_t>(),
      .scales = call.scales.tensor.const_data_ptr<float>(),
      .sums = call.sums.tensor.const_data_ptr<std::int32_t>(),
      .bias = call.bias ? call.bias->const_data_ptr<float>() : nullptr,
      .columns = call.columns(),
      .depth = call.depth(),
  };
}

// Into how many blocks rows are divided: as many for each thread.
std::int64_t block_count(std::int64_t rows) {
  const std::int64_t threads = thread_count();
  if (rows < threads * kRowsOfAThread) return blocks(rows, kBlockRows);
  return threads * blocks(rows, threads * kBlockRows);
}

void multiply_all(const Call& call, const LinearFunctions& functions) {
  const Activations activations(call, functions);
  const PackedWeights weights = weights_of(call);
  const Activation activation = call.activation.value_or(Activation::kNone);
  const float* const addend = call.addend ? call.addend->const_data_ptr<float>() : nullptr;
  float* const out = call.out.mutable_data_ptr<float>();
  const std::int64_t row_blocks = block_count(call.rows());
  const std::int64_t tile_blocks = blocks(tile_count(weights.columns), kBlockTiles);
  // A task is a block of rows in a block of tiles.
  const auto multiply = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t block = task / tile_blocks;
      const std::int64_t row = block * call.rows() / row_blocks;
      const std::int64_t next = (block + 1) * call.rows() / row_blocks;
      const std::int64_t tile = task % tile_blocks * kBlockTiles;
      const std::int64_t place = row * weights.columns;
      functions.multiply({activations.from(row), weights, activation,
                          addend == nullptr ? nullptr : addend + place, out + place},
                         next - row,
                         {tile, std::min(tile + kBlockTiles, tile_count(weights.columns))});
    }
  };
  const std::int64_t block_bytes = kBlockTiles * weights.tile_bytes();
  const std::int64_t cost =
      blocks(call.rows(), row_blocks) * block_bytes / kMultiplications + block_bytes / kBytesRead;
  parallel_for(row_blocks * tile_blocks, 1 + kWorthAThread / std::max<std::int64_t>(cost, 1),
               multiply);
}

}  // namespace

Status quantized_linear(KernelStack stack, const LinearFunctions& functions) {
  Arguments arguments(stack, 8);
  const std::string_view activation = arguments.text(6);
  const Call call{.x = {"x", arguments.tensor(0)},
                  .tiles = {"tiles", arguments.tensor(1)},
                  .scales = {"scales", arguments.tensor(2)},
                  .sums = {"sums", arguments.tensor(3)},
                  .bias = arguments.optional_tensor(4),
                  .addend = arguments.optional_tensor(5),
                  .activation_name = activation,
                  .activation = activation_named(activation),
                  .out = arguments.tensor(7)};
  if (!arguments.status()) return arguments.status();
  if (Status checked = check(call); !checked) return checked;
  if (call.out.numel() > 0) multiply_all(call, functions);
  return {};
}

Status QuantizedLinear::run(KernelStack stack) {
  return quantized_linear(stack, fastest_linear_functions());
}

}  // namespace polystate
