#pragma once

#include <cstdint>

#include "kernels/linear/packed_weights.h"

namespace polystate {

// The inner loops of products with int8 weights, which exist once for every instruction set.

// A row of activations in 8 bits: element i is `scale * (values[i] - zero)`.
struct RowScale {
  float scale;
  std::int32_t zero;  // 0..255
};

// Rows of activations in 8 bits.
struct QuantizedRows {
  const std::uint8_t* values;  // [rows, stride]; beyond the depth, anything
  const RowScale* scales;      // [rows]
  std::int64_t stride;         // a multiple of kTileDepth
};

struct ColumnRange {
  std::int64_t first;  // tiles
  std::int64_t last;
};

struct LinearFunctions {
  // Gives a row in 8 bits, from its smallest to its largest value and 0. A row with a NaN or an
  // infinity gets a scale of NaN. Writes up to the next multiple of kTileDepth.
  RowScale (*quantize)(const float* row, std::int64_t depth, std::uint8_t* values);

  // out[r, c] for `count` rows and the columns of some tiles: the products, scaled, and the bias.
  // Each result is, bit for bit, what it is with any other rows and by any instruction set.
  void (*multiply)(const QuantizedRows& rows, std::int64_t count, const PackedWeights& weights,
                   ColumnRange tiles, float* out, std::int64_t out_stride);
};

}  // namespace polystate
