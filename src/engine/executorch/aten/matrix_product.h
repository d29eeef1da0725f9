#pragma once

#include <cstdint>

namespace polystate {

// Matrices of float32, row by row, whose product is asked for.
struct MatrixProduct {
  const float* left;   // [rows, depth]
  const float* right;  // [depth, columns]; where transposed [columns, depth]
  const float* bias;   // [columns]; null: none
  float* out;          // [rows, columns]
  std::int64_t rows;
  std::int64_t depth;  // 1 or more
  std::int64_t columns;
  bool is_right_transposed;
};

// Computes as many products of matrices that lie one after another, on as many threads as are worth
// it.
void multiply_pairs(const MatrixProduct& first, std::int64_t count);

}  // namespace polystate
