#include "engine/executorch/aten/lu_factors.h"

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/executorch/aten/matrices.h"

namespace polystate {
namespace {

template <typename T>
void subtract_multiple(T* row, T factor, const T* other, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) row[i] -= factor * other[i];
}

template <typename T>
std::int64_t place_of_largest(const MatrixView<T>& a, std::int64_t column) {
  std::int64_t place = column;
  T largest = std::abs(a(column, column));
  for (std::int64_t i = column + 1; i < a.rows(); ++i) {
    const T size = std::abs(a(i, column));
    if (size > largest) {
      largest = size;
      place = i;
    }
  }
  return place;
}

template <typename T>
std::int32_t factor_small(MatrixView<T> a, Pivots pivots) {
  std::int32_t first_zero = 0;
  const std::int64_t columns = a.cols();
  for (std::int64_t k = 0; k < static_cast<std::int64_t>(pivots.size()); ++k) {
    const std::int64_t pivot = place_of_largest(a, k);
    pivots[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(pivot + 1);
    T* const row = a.data() + k * columns;
    if (pivot != k) std::swap_ranges(row, row + columns, a.data() + pivot * columns);
    if (row[k] == T(0)) {
      if (first_zero == 0) first_zero = static_cast<std::int32_t>(k + 1);
      continue;
    }
    for (std::int64_t i = k + 1; i < a.rows(); ++i) {
      T* const below = a.data() + i * columns;
      below[k] /= row[k];
      subtract_multiple(below + k + 1, below[k], row + k + 1, columns - k - 1);
    }
  }
  return first_zero;
}

template <typename T>
std::int32_t factor_large(MatrixView<T> a, Pivots pivots) {
  const auto size = static_cast<Eigen::Index>(pivots.size());
  Eigen::Matrix<int, Eigen::Dynamic, 1> exchanged(size);
  int count = 0;
  // What Eigen's class of this factorisation is made of, which takes square matrices alone. It does
  // not compute columns beyond as many as there are rows.
  const auto first_zero = Eigen::internal::partial_lu_impl<T, Eigen::RowMajor, int>::blocked_lu(
      a.rows(), size, a.data(), a.outerStride(), exchanged.data(), count);
  auto beyond = a.rightCols(a.cols() - size);
  for (Eigen::Index i = 0; i < size; ++i) {
    pivots[static_cast<std::size_t>(i)] = exchanged[i] + 1;
    beyond.row(i).swap(beyond.row(exchanged[i]));
  }
  if (beyond.cols() > 0) {
    a.leftCols(size).template triangularView<Eigen::UnitLower>().solveInPlace(beyond);
  }
  return static_cast<std::int32_t>(first_zero + 1);
}

// Row `i` of X is b[i] - the sum of a(i, j) x[j] over what is known, divided by a(i, i).
template <typename T>
void substitute_rows(const MatrixView<T>& a, const Triangle& triangle, MatrixView<T> b) {
  const std::int64_t size = a.rows();
  const std::int64_t columns = b.cols();
  for (std::int64_t step = 0; step < size; ++step) {
    const std::int64_t i = triangle.is_upper ? size - 1 - step : step;
    const T* const factors = a.data() + i * size;
    T* const row = b.data() + i * columns;
    const std::int64_t first = triangle.is_upper ? i + 1 : 0;
    const std::int64_t last = triangle.is_upper ? size : i;
    for (std::int64_t j = first; j < last; ++j) {
      subtract_multiple(row, factors[j], b.data() + j * columns, columns);
    }
    if (triangle.has_ones) continue;
    for (std::int64_t j = 0; j < columns; ++j) row[j] /= factors[i];
  }
}

// As above for A^T, whose triangle is the other one: a known row is taken out of those to come.
template <typename T>
void substitute_columns(const MatrixView<T>& a, const Triangle& triangle, MatrixView<T> b) {
  const std::int64_t size = a.rows();
  const std::int64_t columns = b.cols();
  for (std::int64_t step = 0; step < size; ++step) {
    const std::int64_t i = triangle.is_upper ? step : size - 1 - step;
    const T* const factors = a.data() + i * size;
    T* const row = b.data() + i * columns;
    if (!triangle.has_ones) {
      for (std::int64_t j = 0; j < columns; ++j) row[j] /= factors[i];
    }
    const std::int64_t first = triangle.is_upper ? i + 1 : 0;
    const std::int64_t last = triangle.is_upper ? size : i;
    for (std::int64_t j = first; j < last; ++j) {
      subtract_multiple(b.data() + j * columns, factors[j], row, columns);
    }
  }
}

template <unsigned kMode, typename T>
void solve_in_blocks(const MatrixView<T>& a, bool is_transposed, MatrixView<T> b) {
  constexpr unsigned kOther = kMode ^ (unsigned{Eigen::Upper} | unsigned{Eigen::Lower});
  if (is_transposed) {
    a.transpose().template triangularView<kOther>().solveInPlace(b);
  } else {
    a.template triangularView<kMode>().solveInPlace(b);
  }
}

}  // namespace

template <typename T>
std::int32_t factor_lu(MatrixView<T> a, Pivots pivots) {
  if (pivots.empty()) return 0;
  return std::max(a.rows(), a.cols()) <= kSmallMatrix ? factor_small(a, pivots)
                                                      : factor_large(a, pivots);
}

template <typename T>
void solve_triangle(const MatrixView<T>& a, const Triangle& triangle, MatrixView<T> b) {
  if (b.size() == 0) return;
  if (a.rows() <= kSmallMatrix) {
    if (triangle.is_transposed) {
      substitute_columns(a, triangle, b);
    } else {
      substitute_rows(a, triangle, b);
    }
  } else if (triangle.is_upper && triangle.has_ones) {
    solve_in_blocks<Eigen::UnitUpper>(a, triangle.is_transposed, b);
  } else if (triangle.is_upper) {
    solve_in_blocks<Eigen::Upper>(a, triangle.is_transposed, b);
  } else if (triangle.has_ones) {
    solve_in_blocks<Eigen::UnitLower>(a, triangle.is_transposed, b);
  } else {
    solve_in_blocks<Eigen::Lower>(a, triangle.is_transposed, b);
  }
}

template <typename T>
void solve_by_lu(const MatrixView<T>& lu, Pivots pivots, MatrixView<T> b, bool is_transposed) {
  const auto exchange = [&](std::size_t i) {
    const auto row = static_cast<std::int64_t>(i);
    const std::int64_t other = pivots[i] - 1;
    if (other == row) return;
    T* const first = b.data() + row * b.cols();
    std::swap_ranges(first, first + b.cols(), b.data() + other * b.cols());
  };
  const Triangle lower{.is_transposed = is_transposed, .has_ones = true};
  const Triangle upper{.is_upper = true, .is_transposed = is_transposed};
  if (is_transposed) {
    solve_triangle(lu, upper, b);
    solve_triangle(lu, lower, b);
    for (std::size_t i = pivots.size(); i > 0; --i) exchange(i - 1);
  } else {
    for (std::size_t i = 0; i < pivots.size(); ++i) exchange(i);
    solve_triangle(lu, lower, b);
    solve_triangle(lu, upper, b);
  }
}

bool are_pivots(std::span<const std::int32_t> pivots, std::int64_t rows) {
  return std::ranges::all_of(pivots, [&](std::int32_t row) { return row >= 1 && row <= rows; });
}

template std::int32_t factor_lu<float>(MatrixView<float> a, Pivots pivots);
template std::int32_t factor_lu<double>(MatrixView<double> a, Pivots pivots);
template void solve_by_lu<float>(const MatrixView<float>& lu, Pivots pivots, MatrixView<float> b,
                                 bool is_transposed);
template void solve_by_lu<double>(const MatrixView<double>& lu, Pivots pivots, MatrixView<double> b,
                                  bool is_transposed);
template void solve_triangle<float>(const MatrixView<float>& a, const Triangle& triangle,
                                    MatrixView<float> b);
template void solve_triangle<double>(const MatrixView<double>& a, const Triangle& triangle,
                                     MatrixView<double> b);

}  // namespace polystate
