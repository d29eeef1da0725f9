#pragma once

#include <cstdint>

#include "kernels/linear/packed_weights.h"

namespace polystate {

// The inner loops of products with int8 weights, which exist once for every instruction set.

// A row of activations in 8 bits: element i is `scale * (values[i] - zero)`. An instruction set may
// flip the highest bit of each value, which makes them signed bytes that are less by 128.
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

enum class Activation : std::uint8_t { kNone, kRelu, kSilu };

// out[r, c] = activation(dot(row r, column c) * scales + bias[c]) + addend[r, c].
struct Product {
  QuantizedRows rows;
  PackedWeights weights;
  Activation activation;
  const float* addend;  // [rows, columns] or null
  float* out;           // [rows, columns]
};

// Tiles `first` to `last - 1` of a product's weights.
struct TileRange {
  std::int64_t first;
  std::int64_t last;
};

struct LinearFunctions {
  // Gives a row in 8 bits, from its smallest to its largest value and 0. A row with a NaN or an
  // infinity gets a scale of NaN.
  RowScale (*quantize)(const float* row, std::int64_t depth, std::uint8_t* values);

  // Computes the first `count` rows, in the columns of some tiles. Each result is, bit for bit,
  // what it is with any other rows and, but for SiLU, by any instruction set.
  void (*multiply)(const Product& product, std::int64_t count, TileRange tiles);
};

}  // namespace polystate
