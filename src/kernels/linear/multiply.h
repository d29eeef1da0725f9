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

// A product: out[r, c] is that of row r and column c, scaled, and the bias.
struct Product {
  QuantizedRows rows;
  PackedWeights weights;
  float* out;
  std::int64_t out_stride;
};

// Tiles `first` to `last - 1` of a product's weights.
struct TileRange {
  std::int64_t first;
  std::int64_t last;
};

// The columns of one tile.
struct TileColumns {
  const PackedWeights& weights;
  std::int64_t first;
  std::int64_t count;  // 1 to kTileColumns
};

struct LinearFunctions {
  // Gives a row in 8 bits, from its smallest to its largest value and 0. A row with a NaN or an
  // infinity gets a scale of NaN. Writes up to the next multiple of kTileDepth.
  RowScale (*quantize)(const float* row, std::int64_t depth, std::uint8_t* values);

  // Computes the first `count` rows, in the columns of some tiles. Each result is, bit for bit,
  // what it is with any other rows and by any instruction set.
  void (*multiply)(const Product& product, std::int64_t count, TileRange tiles);
};

}  // namespace polystate
