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

// Multiplications that are worth a thread.
inline constexpr std::int64_t kProductsWorthAThread = 262'144;

// Computes as many products of matrices that lie one after another, on as many threads as are worth
// it. Each thread has a copy of a right matrix, unless there are few rows, which are summed in
// another order.
void multiply_pairs(const MatrixProduct& first, std::int64_t count);

}  // namespace polystate
