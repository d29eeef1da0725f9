#pragma once

#include <cstdint>

#include "kernels/linear/packed_weights.h"

namespace polystate {

// The inner loops of products with packed weights, which exist once for every instruction set.

// Rows of activations.
template <typename T>
struct PlainRows {
  const T* values;  // [rows, stride]
  std::int64_t stride;
};

using FloatRows = PlainRows<float>;

// A row of activations in 8 bits: element i is `scale * (value i - zero)`.
struct RowScale {
  float scale;
  std::int32_t zero;          // 0..255
  std::int32_t excluded = 0;  // what an instruction set's products leave out of each sum
};

// Rows of activations in 8 bits, as an instruction set reads them. It may flip the highest bit of
// each value, which makes them signed bytes that are less by 128, and may hold one in two bytes.
struct QuantizedRows {
  const std::uint8_t* values;  // [rows, stride]
  std::int64_t stride;         // bytes
  const RowScale* scales;      // [rows]
};

// A group of a row of activations in 8 bits: element i is `scale * value i`.
struct GroupScale {
  float scale;
  std::int32_t start;  // what a sum of an instruction set's products begins with
};

// Rows of activations in 8 bits, whose groups have scales of their own.
struct GroupwiseRows {
  const std::int8_t* values;  // [rows, groups * GroupwiseWeights::kGroupDepth]
  const GroupScale* scales;   // [rows, groups]
  std::int64_t groups;
};

enum class Activation : std::uint8_t { kNone, kRelu, kSilu };

// out[r, c] = activation(dot(row r, column c) + bias[c]) + addend[r, c].
template <typename Rows, typename Weights, typename Value = float>
struct Product {
  Rows rows;
  Weights weights;
  Activation activation;
  const Value* addend;  // [rows, columns] or null
  Value* out;           // [rows, columns]
};

template <typename T>
using PlainProduct = Product<PlainRows<T>, PlainWeights<T>, T>;
using FloatProduct = PlainProduct<float>;
using QuantizedProduct = Product<QuantizedRows, QuantizedWeights>;
using GroupwiseProduct = Product<GroupwiseRows, GroupwiseWeights>;

// Tiles `first` to `last - 1` of a product's weights.
struct TileRange {
  std::int64_t first;
  std::int64_t last;
};

// Computes the first `count` rows of a product of a depth of 1 or more, in the columns of some
// tiles. Each result is, bit for bit, what it is with any other rows.
template <typename T>
using MultiplyPlain = void (*)(const PlainProduct<T>& product, std::int64_t count, TileRange tiles);
using MultiplyFloats = MultiplyPlain<float>;

struct QuantizedLinearFunctions {
  // Of each value of a row; its groups are of QuantizedWeights::kTileDepth values.
  std::int64_t value_bytes;

  // Gives a row in 8 bits, from its smallest to its largest value and 0. A row with a NaN or an
  // infinity gets a scale of NaN. Fills whole groups, with anything beyond the depth.
  RowScale (*quantize)(const float* row, std::int64_t depth, std::uint8_t* values);

  // As MultiplyFloats. Each result is also, but for SiLU, what any other instruction set gives.
  void (*multiply)(const QuantizedProduct& product, std::int64_t count, TileRange tiles);
};

struct GroupwiseLinearFunctions {
  // Gives a row in 8 bits, and the scale of each of its groups, of which the largest magnitude
  // becomes 127. Fills whole groups. A row with a NaN or an infinity gets scales of NaN, and any
  // values.
  void (*quantize)(const float* row, std::int64_t depth, std::int8_t* values, GroupScale* scales);

  // As QuantizedLinearFunctions::multiply.
  void (*multiply)(const GroupwiseProduct& product, std::int64_t count, TileRange tiles);
};

}  // namespace polystate
