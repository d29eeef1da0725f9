#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/executorch/aten/matrices.h"

namespace polystate {

// Row exchanges as LAPACK has them: row i was exchanged with row pivots[i] - 1, in this order.
using Pivots = std::span<std::int32_t>;

// Those of one matrix among all, `size` of each.
inline Pivots pivots_of(std::span<std::int32_t> all, std::int64_t index, std::int64_t size) {
  return all.subspan(static_cast<std::size_t>(index * size), static_cast<std::size_t>(size));
}

// Makes matrices, in place, L (below the diagonal, ones on it left out) and U of P A = L U.
// `pivots` are as many as the shorter side is long. The place of the first zero on U's diagonal,
// counted from 1; 0 where no element is zero.
template <typename T>
std::int32_t factor_lu(MatrixView<T> a, Pivots pivots);

// Solves A X = B, or with `is_transposed` A^T X = B, in place of B, by a square A's factors.
template <typename T>
void solve_by_lu(const MatrixView<T>& lu, Pivots pivots, MatrixView<T> b, bool is_transposed);

// Solves A X = B in place of B, of which A is a triangle.
struct Triangle {
  bool is_upper = false;
  bool is_transposed = false;  // the other triangle, of A^T, is what A has
  bool has_ones = false;       // on the diagonal, whatever A has there
};
template <typename T>
void solve_triangle(const MatrixView<T>& a, const Triangle& triangle, MatrixView<T> b);

// Whether pivots are rows of a matrix.
bool are_pivots(std::span<const std::int32_t> pivots, std::int64_t rows);

}  // namespace polystate
