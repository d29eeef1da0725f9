#include "engine/executorch/aten/matrix_product.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "kernels/linear/linear_call.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/parallel.h"

namespace polystate {
namespace {

// Elements of a matrix that a thread packs, at least.
constexpr std::int64_t kElementsPacked = 16'384;

// So many rows save the time that it takes to pack the right matrix.
constexpr std::int64_t kRowsWorthPacking = 4;
// Steps of depth of which a row of results is read and written once.
constexpr std::int64_t kStepsAtOnce = 4;

// Fills a tile with columns of the right matrix, with zeros in place of those that are missing.
void pack_tile(const MatrixProduct& product, std::int64_t tile, float* to) {
  const std::int64_t first = tile * kTileColumns;
  const std::int64_t count = std::min(kTileColumns, product.columns - first);
  if (count < kTileColumns) std::fill_n(to, product.depth * kTileColumns, 0.0F);
  if (product.is_right_transposed) {
    for (std::int64_t column = 0; column < count; ++column) {
      const float* const from = product.right + (first + column) * product.depth;
      for (std::int64_t i = 0; i < product.depth; ++i) to[i * kTileColumns + column] = from[i];
    }
    return;
  }
  for (std::int64_t i = 0; i < product.depth; ++i, to += kTileColumns) {
    const float* const from = product.right + i * product.columns + first;
    if (count == kTileColumns) {
      std::copy_n(from, kTileColumns, to);
    } else {
      std::copy_n(from, count, to);
    }
  }
}

// Adds the products of a row with some steps of depth to neighbouring results.
void add_steps(const float* row, const float* right, std::int64_t stride, std::int64_t count,
               float* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    float sum = out[i];
    for (std::int64_t step = 0; step < kStepsAtOnce; ++step) {
      sum += row[step] * right[step * stride + i];
    }
    out[i] = sum;
  }
}

void add_step(const float* row, const float* right, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] += *row * right[i];
}

// The sum of products of two rows.
float dot(const float* left, const float* right, std::int64_t depth) {
  constexpr std::int64_t kSums = 32;
  std::array<float, kSums> sums{};
  std::int64_t i = 0;
  for (; i + kSums <= depth; i += kSums) {
    for (std::int64_t k = 0; k < kSums; ++k) {
      sums[static_cast<std::size_t>(k)] += left[i + k] * right[i + k];
    }
  }
  float sum = 0;
  for (const float some : sums) sum += some;
  for (; i < depth; ++i) sum += left[i] * right[i];
  return sum;
}

// Computes some columns of a row of results, reading the right matrix where it lies.
void multiply_row(const MatrixProduct& product, std::int64_t row, std::int64_t first,
                  std::int64_t last) {
  const InstructionSet set = best_instruction_set();
  const std::int64_t depth = product.depth;
  const std::int64_t columns = product.columns;
  const float* const left = product.left + row * depth;
  float* const out = product.out + row * columns;
  for (std::int64_t i = first; i < last; ++i) {
    out[i] = product.bias == nullptr ? 0.0F : product.bias[i];
  }
  if (product.is_right_transposed) {
    const auto sum = vectorised<&dot>(set);
    for (std::int64_t i = first; i < last; ++i)
      out[i] += sum(left, product.right + i * depth, depth);
    return;
  }
  const float* right = product.right + first;
  const auto add = vectorised<&add_steps>(set);
  const auto add_last = vectorised<&add_step>(set);
  std::int64_t i = 0;
  for (; i + kStepsAtOnce <= depth; i += kStepsAtOnce, right += kStepsAtOnce * columns) {
    add(left + i, right, columns, last - first, out + first);
  }
  for (; i < depth; ++i, right += columns) add_last(left + i, right, last - first, out + first);
}

void multiply_few_rows(const MatrixProduct& product) {
  const std::int64_t grain =
      kProductsWorthAThread / (product.rows * product.depth) + kTileColumns;  // lines of the cache
  parallel_for(product.columns, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = 0; row < product.rows; ++row) multiply_row(product, row, first, last);
  });
}

void multiply(const MatrixProduct& product) {
  if (product.rows < kRowsWorthPacking) return multiply_few_rows(product);
  static const MultiplyFloats function = fastest_multiply_floats();
  const std::int64_t tiles = tile_count(product.columns);
  const std::int64_t tile_size = product.depth * kTileColumns;
  const auto bytes = static_cast<std::size_t>(tiles * tile_size) * sizeof(float);
  auto* const packed = reinterpret_cast<float*>(scratch_bytes(bytes));
  parallel_for(tiles, kElementsPacked / tile_size + 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t tile = first; tile < last; ++tile) {
      pack_tile(product, tile, packed + tile * tile_size);
    }
  });
  const FloatWeights weights{
      .tiles = packed, .bias = product.bias, .columns = product.columns, .depth = product.depth};
  const ProductCost cost{.rows = product.rows,
                         .columns = product.columns,
                         .tile_bytes = tile_size * std::int64_t{sizeof(float)},
                         .bytes_multiplied = kFloatBytesMultiplied};
  multiply_in_blocks(cost, [&](std::int64_t first, std::int64_t last, TileRange some) {
    const FloatRows rows{product.left + first * product.depth, product.depth};
    const FloatProduct part{rows, weights, Activation::kNone, nullptr,
                            product.out + first * product.columns};
    function(part, last - first, some);
  });
}

}  // namespace

void multiply_pairs(const MatrixProduct& first, std::int64_t count) {
  const auto multiply_some = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      MatrixProduct pair = first;
      pair.left += i * first.rows * first.depth;
      pair.right += i * first.depth * first.columns;
      pair.out += i * first.rows * first.columns;
      multiply(pair);
    }
  };
  if (count < thread_count()) return multiply_some(0, count);  // each on all threads
  const std::int64_t products = first.rows * first.depth * first.columns;
  parallel_for(count, kProductsWorthAThread / products + 1, multiply_some);
}

}  // namespace polystate
