#include "kernels/linear/linear_call.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/parallel.h"
#include "kernels/requirements.h"
#include "polystate/core/dtype.h"

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

// From so much work on, another thread saves more time than it costs to wake.
constexpr std::int64_t kNanosecondsWorthAThread = 2'000;
// In a nanosecond: bytes of weights, and values of x in 8 bits.
constexpr std::int64_t kBytesRead = 25;
constexpr std::int64_t kValuesQuantized = 8;

// More would not fit a sum of 8 bits times 8 bits in 32.
constexpr std::int64_t kLargestDepth = 65'536;

std::optional<Activation> activation_named(std::string_view name) {
  if (name == "none") return Activation::kNone;
  if (name == "relu") return Activation::kRelu;
  if (name == "silu") return Activation::kSilu;
  return std::nullopt;
}

std::int64_t blocks(std::int64_t count, std::int64_t size) { return (count + size - 1) / size; }

// Into how many blocks rows are divided: as many for each thread.
std::int64_t block_count(std::int64_t rows) {
  const std::int64_t threads = thread_count();
  if (rows < threads * kRowsOfAThread) return blocks(rows, kBlockRows);
  return threads * blocks(rows, threads * kBlockRows);
}

}  // namespace

void LinearCall::check_rows(Requirements& require) const {
  require.holds(rank() > 0, "x is a number; it must have a dimension");
  require.floats(x, std::max(rank(), 1));
  require.holds(depth() > 0 && depth() <= kLargestDepth,
                "rows of x have " + std::to_string(depth()) + " values; there may be 1 to " +
                    std::to_string(kLargestDepth));
}

void LinearCall::check_others(Requirements& require) {
  if (bias) {
    const NamedTensor given{"bias", *bias};
    require.floats(given, 1);
    require.shape(given, {columns});
  }
  require.holds(
      activation_named(activation_name).has_value(),
      "the activation is '" + std::string(activation_name) + "'; it may be none, relu or silu");
  std::vector<std::int64_t> shape(x.tensor.shape().begin(), x.tensor.shape().end());
  if (!shape.empty()) shape.back() = columns;
  if (addend) {
    const NamedTensor given{"addend", *addend};
    require.floats(given, rank());
    require.shape(given, shape);
  }
  out = require.result(DType::kFloat32, shape);
}

const float* LinearCall::bias_data() const { return bias ? bias->data<float>() : nullptr; }

const float* LinearCall::addend_data() const { return addend ? addend->data<float>() : nullptr; }

Activation LinearCall::activation() const {
  return activation_named(activation_name).value_or(Activation::kNone);
}

void require_columns(Requirements& require, std::int64_t columns, const NamedTensor& tiles) {
  const std::int64_t most = tiles.tensor.size(0) * kTileColumns;
  require.holds(columns >= 0 && columns <= most, "columns is " + std::to_string(columns) +
                                                     "; the tiles have " + std::to_string(most));
}

void multiply_in_blocks(
    const ProductCost& cost,
    const std::function<void(std::int64_t first, std::int64_t last, TileRange tiles)>& multiply) {
  const std::int64_t tiles = tile_count(cost.columns);
  const std::int64_t row_blocks = block_count(cost.rows);
  const std::int64_t tile_blocks = blocks(tiles, kBlockTiles);
  // A task is a block of rows in a block of tiles.
  const auto run = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t task = first; task < last; ++task) {
      const std::int64_t block = task / tile_blocks;
      const std::int64_t tile = task % tile_blocks * kBlockTiles;
      multiply(block * cost.rows / row_blocks, (block + 1) * cost.rows / row_blocks,
               {tile, std::min(tile + kBlockTiles, tiles)});
    }
  };
  const std::int64_t block_bytes = kBlockTiles * cost.tile_bytes;
  const std::int64_t time = blocks(cost.rows, row_blocks) * block_bytes / cost.bytes_multiplied +
                            block_bytes / kBytesRead;
  parallel_for(row_blocks * tile_blocks,
               1 + kNanosecondsWorthAThread / std::max<std::int64_t>(time, 1), run);
}

std::int64_t quantized_rows_of_a_thread(std::int64_t depth) {
  const std::int64_t time = depth / kValuesQuantized + 1;
  return 1 + kNanosecondsWorthAThread / time;
}

std::uint8_t* Scratch::bytes(std::size_t size) {
  most_ = std::max(most_, size);
  if (++calls_ == kCalls) {
    if (memory_.size() > kKept && memory_.size() / kFewer > most_) {
      memory_ = std::vector<std::uint8_t>();  // first, so that there are never two
      memory_.resize(most_);
    }
    calls_ = 0;
    most_ = size;
  }
  if (memory_.size() < size) memory_.resize(size);
  return memory_.data();
}

std::uint8_t* scratch_bytes(std::size_t size) {
  thread_local Scratch scratch;
  return scratch.bytes(size);
}

}  // namespace polystate
