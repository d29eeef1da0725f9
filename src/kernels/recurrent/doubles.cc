// Recurrent layers in float64. Their exponentials are the C library's, one by one.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/recurrent/cell_functions.h"
#include "kernels/recurrent/cells.h"
#include "kernels/vectors/compiler_vector.h"

namespace polystate {
namespace {

using Row = CellRow<double>;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void advance_lstm(const Row& row, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const double input = sigmoid(row.sums[i]);
    const double forget = sigmoid(row.sums[i + size]);
    const double added = std::tanh(row.sums[i + 2 * size]);
    const double output = sigmoid(row.sums[i + 3 * size]);
    row.cell[i] = forget * row.cell[i] + input * added;
    row.out[i] = output * std::tanh(row.cell[i]);
  }
}

void advance_gru(const Row& row, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) {
    const double reset = sigmoid(row.inputs[i] + row.sums[i]);
    const double update = sigmoid(row.inputs[i + size] + row.sums[i + size]);
    const double fresh = std::tanh(row.inputs[i + 2 * size] + reset * row.sums[i + 2 * size]);
    row.out[i] = (row.hidden[i] - fresh) * update + fresh;
  }
}

void advance_tanh(const Row& row, std::int64_t size) {
  for (std::int64_t i = 0; i < size; ++i) row.out[i] = std::tanh(row.sums[i]);
}

void advance_relu(const Row& row, std::int64_t size) {
  // A NaN is not below zero.
  for (std::int64_t i = 0; i < size; ++i) row.out[i] = row.sums[i] < 0 ? 0 : row.sums[i];
}

constexpr std::size_t kWidth = 4;                        // columns that are computed at once
constexpr std::size_t kVectors = kTileColumns / kWidth;  // of a tile
using Vector = CompilerVector<double, kWidth>;

// `kRows` rows from `row` on, so many that their sums stay in registers, in the columns of a tile.
template <std::size_t kRows>
[[gnu::always_inline]] inline void multiply_tile(const PlainProduct<double>& product,
                                                 std::int64_t row, std::int64_t tile) {
  const PlainWeights<double>& weights = product.weights;
  const double* values = weights.tiles + tile * weights.tile_size();
  const double* const x = product.rows.values + row * product.rows.stride;
  std::array<std::array<Vector, kVectors>, kRows> sums{};
  for (std::int64_t step = 0; step < weights.depth; ++step) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      Vector columns;
      load(values, columns);
      values += kWidth;
      for (std::size_t r = 0; r < kRows; ++r) {
        sums[r][v] += columns * x[static_cast<std::int64_t>(r) * product.rows.stride + step];
      }
    }
  }
  const std::int64_t first = tile * kTileColumns;
  const std::int64_t columns = std::min(kTileColumns, weights.columns - first);
  for (std::size_t r = 0; r < kRows; ++r) {
    std::array<double, kTileColumns> row_sums;
    store(sums[r], row_sums.data());
    const std::int64_t place = (row + static_cast<std::int64_t>(r)) * weights.columns + first;
    for (std::int64_t c = 0; c < columns; ++c) {
      const double bias = weights.bias == nullptr ? 0 : weights.bias[first + c];
      const double addend = product.addend == nullptr ? 0 : product.addend[place + c];
      product.out[place + c] = row_sums[static_cast<std::size_t>(c)] + bias + addend;
    }
  }
}

void multiply(const PlainProduct<double>& product, std::int64_t count, TileRange tiles) {
  constexpr std::int64_t kTogether = 2;
  for (std::int64_t tile = tiles.first; tile < tiles.last; ++tile) {
    std::int64_t row = 0;
    for (; row + kTogether <= count; row += kTogether) multiply_tile<kTogether>(product, row, tile);
    if (row < count) multiply_tile<1>(product, row, tile);
  }
}

}  // namespace

LayerFunctions<double> functions_of_doubles(InstructionSet set) {
  return {
      .multiply = vectorised<multiply>(set),
      .cells = {
          .lstm = advance_lstm, .gru = advance_gru, .tanh = advance_tanh, .relu = advance_relu}};
}

}  // namespace polystate
