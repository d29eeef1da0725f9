#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/matrices.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Factors of symmetric matrices, P A P^T = L D L^T, where D has blocks of 1 x 1 and 2 x 2 (Bunch
// and Kaufman 1977), as LAPACK's sytrf has them: in the lower triangle; a pivot is a row, counted
// from 1, and negative for both rows of a block of 2 x 2. Computed in double precision.
namespace polystate {
namespace {

// The largest of `vector` in size, and its place in it; the first NaN, where there is one.
struct Largest {
  double size = 0;
  Eigen::Index place = 0;
};

template <typename Vector>
Largest largest_of(const Vector& vector) {
  Largest found;
  for (Eigen::Index i = 0; i < vector.size(); ++i) {
    const double size = std::abs(vector(i));
    if (std::isnan(size)) return {size, i};
    if (size > found.size) found = {size, i};
  }
  return found;
}

// Which row comes to the next place, and how large the block there is.
struct Choice {
  Eigen::Index row = 0;
  Eigen::Index block = 1;
};

Choice choose(const Matrix<double>& a, Eigen::Index k) {
  const double bound = (1 + std::sqrt(17.0)) / 8;
  const Eigen::Index size = a.rows();
  const double own = std::abs(a(k, k));
  const Largest in_column = largest_of(a.col(k).tail(size - k - 1));
  const Eigen::Index other = k + 1 + in_column.place;
  if (own >= bound * in_column.size) return {k, 1};
  const double largest = std::max(largest_of(a.row(other).segment(k, other - k)).size,
                                  largest_of(a.col(other).tail(size - other - 1)).size);
  if (own >= bound * in_column.size * (in_column.size / largest)) return {k, 1};
  if (std::abs(a(other, other)) >= bound * largest) return {other, 1};
  return {other, 2};
}

// Exchanges rows and columns `i` and `j`, i < j, of the lower triangle from column `k` on.
void exchange(Matrix<double>& a, Eigen::Index k, Eigen::Index i, Eigen::Index j) {
  const Eigen::Index below = a.rows() - j - 1;
  a.col(i).tail(below).swap(a.col(j).tail(below));
  for (Eigen::Index m = i + 1; m < j; ++m) std::swap(a(m, i), a(j, m));
  std::swap(a(i, i), a(j, j));
  if (i > k) std::swap(a(i, k), a(j, k));
}

void eliminate_one(Matrix<double>& a, Eigen::Index k) {
  const double inverse = 1 / a(k, k);
  for (Eigen::Index i = k + 1; i < a.rows(); ++i) {
    for (Eigen::Index j = k + 1; j <= i; ++j) a(i, j) -= inverse * a(i, k) * a(j, k);
  }
  a.col(k).tail(a.rows() - k - 1) *= inverse;
}

void eliminate_two(Matrix<double>& a, Eigen::Index k) {
  const double beside = a(k + 1, k);
  const double first = a(k + 1, k + 1) / beside;
  const double second = a(k, k) / beside;
  const double scale = 1 / (first * second - 1) / beside;
  for (Eigen::Index j = k + 2; j < a.rows(); ++j) {
    const double x = scale * (first * a(j, k) - a(j, k + 1));
    const double y = scale * (second * a(j, k + 1) - a(j, k));
    for (Eigen::Index i = j; i < a.rows(); ++i) a(i, j) -= a(i, k) * x + a(i, k + 1) * y;
    a(j, k) = x;
    a(j, k + 1) = y;
  }
}

// The place of the first block that is zero, counted from 1; 0 where no block is zero.
std::int32_t factor(Matrix<double>& a, std::span<std::int32_t> pivots) {
  std::int32_t first_zero = 0;
  for (Eigen::Index k = 0; k < a.rows();) {
    // std::max takes its first argument where the second is NaN: a last pivot of NaN counts as 0,
    // as LAPACK has it.
    const double largest =
        std::max(largest_of(a.col(k).tail(a.rows() - k - 1)).size, std::abs(a(k, k)));
    if (largest == 0) {
      if (first_zero == 0) first_zero = static_cast<std::int32_t>(k + 1);
      pivots[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(k + 1);
      ++k;
      continue;
    }
    const Choice choice = choose(a, k);
    const Eigen::Index place = k + choice.block - 1;
    if (choice.row != place) exchange(a, k, place, choice.row);
    const auto row = static_cast<std::int32_t>(choice.row + 1);
    if (choice.block == 1) {
      eliminate_one(a, k);
      pivots[static_cast<std::size_t>(k)] = row;
    } else {
      eliminate_two(a, k);
      pivots[static_cast<std::size_t>(k)] = -row;
      pivots[static_cast<std::size_t>(k + 1)] = -row;
    }
    k += choice.block;
  }
  return first_zero;
}

struct LinalgLdlFactorEx {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_ldl_factor_ex.out(Tensor self, *, bool hermitian=False, bool "
      "check_errors=False, Tensor(a!) LD, Tensor(b!) pivots, Tensor(c!) info) -> (Tensor(a!) LD, "
      "Tensor(b!) pivots, Tensor(c!) info)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const bool check_errors = arguments.boolean(2);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> matrices = Matrices::of(self, "self");
    if (!matrices) return matrices.error();
    if (Status square = require_square(*matrices, "self"); !square) return square;
    const std::int64_t size = matrices->rows();
    const Result<TensorArgument> ld = arguments.result_at(3, self.dtype(), self.shape());
    if (!ld) return ld.error();
    const Result<TensorArgument> pivots =
        arguments.result_at(4, DType::kInt32, matrices->shape_with({size}));
    if (!pivots) return pivots.error();
    const Result<TensorArgument> info =
        arguments.result_at(5, DType::kInt32, matrices->shape_with({}));
    if (!info) return info.error();
    const Matrices factors = *Matrices::of(*ld, "LD");
    const std::span<std::int32_t> all_pivots = elements<std::int32_t>(*pivots);
    const std::span<std::int32_t> infos = elements<std::int32_t>(*info);
    for_each_matrix(matrices->count(), size * size * size / 3, [&](std::int64_t i) {
      Matrix<double> a = matrices->copy(i);
      const auto rows =
          all_pivots.subspan(static_cast<std::size_t>(i * size), static_cast<std::size_t>(size));
      infos[static_cast<std::size_t>(i)] = factor(a, rows);
      a.triangularView<Eigen::StrictlyUpper>().setZero();
      factors.set(i, a);
    });
    return check_errors ? require_factors(infos) : Status();
  }
};

// Whether pivots are what a factorisation of `size` rows has.
bool are_blocks(std::span<const std::int32_t> pivots) {
  const auto size = static_cast<std::int64_t>(pivots.size());
  for (std::size_t k = 0; k < pivots.size(); ++k) {
    const std::int64_t row = std::abs(std::int64_t{pivots[k]});
    if (row < 1 || row > size) return false;
    if (pivots[k] > 0) continue;
    if (k + 1 == pivots.size() || pivots[k + 1] != pivots[k]) return false;
    ++k;
  }
  return true;
}

void exchange_rows(Matrix<double>& b, Eigen::Index i, Eigen::Index j) {
  if (i != j) b.row(i).swap(b.row(j));
}

// B := (L D)^-1 P B
void solve_downwards(const Matrix<double>& ld, std::span<const std::int32_t> pivots,
                     Matrix<double>& b) {
  const Eigen::Index size = ld.rows();
  for (Eigen::Index k = 0; k < size;) {
    const std::int32_t pivot = pivots[static_cast<std::size_t>(k)];
    if (pivot > 0) {
      exchange_rows(b, k, pivot - 1);
      for (Eigen::Index i = k + 1; i < size; ++i) b.row(i) -= ld(i, k) * b.row(k);
      b.row(k) /= ld(k, k);
      ++k;
      continue;
    }
    exchange_rows(b, k + 1, -pivot - 1);
    for (Eigen::Index i = k + 2; i < size; ++i) {
      b.row(i) -= ld(i, k) * b.row(k) + ld(i, k + 1) * b.row(k + 1);
    }
    const double beside = ld(k + 1, k);
    const double first = ld(k, k) / beside;
    const double second = ld(k + 1, k + 1) / beside;
    const double determinant = first * second - 1;
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      const double x = b(k, j) / beside;
      const double y = b(k + 1, j) / beside;
      b(k, j) = (second * x - y) / determinant;
      b(k + 1, j) = (first * y - x) / determinant;
    }
    k += 2;
  }
}

// B := P^T L^-T B
void solve_upwards(const Matrix<double>& ld, std::span<const std::int32_t> pivots,
                   Matrix<double>& b) {
  const Eigen::Index size = ld.rows();
  for (Eigen::Index k = size - 1; k >= 0;) {
    const std::int32_t pivot = pivots[static_cast<std::size_t>(k)];
    const Eigen::Index block = pivot > 0 ? 1 : 2;
    for (Eigen::Index row = k; row > k - block; --row) {
      for (Eigen::Index i = k + 1; i < size; ++i) b.row(row) -= ld(i, row) * b.row(i);
    }
    exchange_rows(b, k, std::abs(pivot) - 1);
    k -= block;
  }
}

struct LinalgLdlSolve {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_ldl_solve.out(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False, "
      "Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument ld = arguments.tensor(0);
    const TensorArgument pivots = arguments.tensor(1);
    const TensorArgument b = arguments.tensor(2);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> factors = Matrices::of(ld, "LD");
    if (!factors) return factors.error();
    if (Status square = require_square(*factors, "LD"); !square) return square;
    const Result<Matrices> sides = Matrices::of(b, "B");
    if (!sides) return sides.error();
    if (Status same = require_same_type(*factors, *sides); !same) return same;
    const std::int64_t size = factors->rows();
    if (pivots.dtype() != DType::kInt32 || !pivots.is_row_major() || sides->rows() != size ||
        !std::ranges::equal(pivots.shape(), factors->shape_with({size}))) {
      return Error{ErrorCode::kEngine, "LD, pivots (int32) and B are of different sizes"};
    }
    const auto pivots_of = [&](std::int64_t i) {
      return elements<const std::int32_t>(pivots).subspan(static_cast<std::size_t>(i * size),
                                                          static_cast<std::size_t>(size));
    };
    for (std::int64_t i = 0; i < factors->count() && size > 0; ++i) {
      if (!are_blocks(pivots_of(i))) return Error{ErrorCode::kEngine, "pivots are no rows of LD"};
    }
    const Result<BroadcastBatch> batch = broadcast(*factors, *sides);
    if (!batch) return batch.error();
    const Result<TensorArgument> out =
        arguments.result_at(4, b.dtype(), batch->shape_with(sides->rows(), sides->columns()));
    if (!out) return out.error();
    if (Status apart = require_apart(pivots, {*out}); !apart) return apart;
    const Matrices results = *Matrices::of(*out, "out");
    for_each_matrix(batch->count(), 2 * size * size * sides->columns(), [&](std::int64_t i) {
      const std::int64_t system = batch->first[static_cast<std::size_t>(i)];
      const Matrix<double> factor = factors->copy(system);
      Matrix<double> x = sides->copy(batch->second[static_cast<std::size_t>(i)]);
      solve_downwards(factor, pivots_of(system), x);
      solve_upwards(factor, pivots_of(system), x);
      results.set(i, x);
    });
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> ldl_operators() {
  return listed<LinalgLdlFactorEx, LinalgLdlSolve>();
}

}  // namespace polystate
