#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/lu_factors.h"
#include "engine/executorch/aten/matrices.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Inverses, and solutions of linear systems.
namespace polystate {
namespace {

struct LinalgInvEx {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_inv_ex.inverse(Tensor A, *, bool check_errors=False, Tensor(a!) inverse, "
      "Tensor(b!) info) -> (Tensor(a!) inverse, Tensor(b!) info)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument a = arguments.tensor(0);
    const bool check_errors = arguments.boolean(1);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> matrices = Matrices::of(a, "A");
    if (!matrices) return matrices.error();
    if (Status square = require_square(*matrices, "A"); !square) return square;
    const Result<TensorArgument> inverse = arguments.result_at(2, a.dtype(), a.shape());
    if (!inverse) return inverse.error();
    const Result<TensorArgument> info =
        arguments.result_at(3, DType::kInt32, matrices->shape_with({}));
    if (!info) return info.error();
    const Matrices inverses = *Matrices::of(*inverse, "inverse");
    const std::span<std::int32_t> infos = elements<std::int32_t>(*info);
    const std::int64_t size = matrices->rows();
    with_matrix_type(a.dtype(), [&]<typename T>() {
      for_each_matrix(matrices->count(), 2 * size * size * size, [&](std::int64_t i) {
        Matrix<T> lu = matrices->at<T>(i);
        std::vector<std::int32_t> pivots(static_cast<std::size_t>(size));
        const MatrixView<T> factors(lu.data(), size, size);
        infos[static_cast<std::size_t>(i)] = factor_lu<T>(factors, pivots);
        inverses.at<T>(i).setIdentity();
        solve_by_lu<T>(factors, pivots, inverses.at<T>(i), false);
      });
    });
    return check_errors ? require_factors(infos) : Status();
  }
};

// Solves X A = B by A^T X^T = B^T, where A is on the right.
template <typename T>
void solve_on_right(const MatrixView<T>& lu, Pivots pivots, MatrixView<T> b, bool is_transposed) {
  Matrix<T> turned = b.transpose();
  solve_by_lu<T>(lu, pivots, {turned.data(), turned.rows(), turned.cols()}, !is_transposed);
  b = turned.transpose();
}

// X of A X = B, or of X A = B, in place of B.
template <typename T>
void solve_on(bool left, const MatrixView<T>& lu, Pivots pivots, MatrixView<T> b) {
  if (left) {
    solve_by_lu<T>(lu, pivots, b, false);
  } else {
    solve_on_right<T>(lu, pivots, b, false);
  }
}

struct LinalgSolveEx {
  static constexpr OperatorSchema kSchema{
      "aten::_linalg_solve_ex.result(Tensor A, Tensor B, *, bool left=True, bool "
      "check_errors=False, Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots, Tensor(d!) info) "
      "-> (Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots, Tensor(d!) info)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument a = arguments.tensor(0);
    const TensorArgument b = arguments.tensor(1);
    const bool left = arguments.boolean(2);
    const bool check_errors = arguments.boolean(3);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> systems = Matrices::of(a, "A");
    if (!systems) return systems.error();
    if (Status square = require_square(*systems, "A"); !square) return square;
    const bool vectors = b.rank() == 1 || is_of_vectors(a, b);
    if (vectors && !left) return Error{ErrorCode::kEngine, "B is of vectors, and not on the right"};
    const Result<Matrices> sides = vectors ? Matrices::of_vectors(b, "B") : Matrices::of(b, "B");
    if (!sides) return sides.error();
    if (Status same = require_same_type(*systems, *sides); !same) return same;
    const std::int64_t size = systems->rows();
    if ((left ? sides->rows() : sides->columns()) != size) {
      return Error{ErrorCode::kEngine, "A and B are of different sizes"};
    }
    const Result<BroadcastBatch> batch = broadcast(*systems, *sides);
    if (!batch) return batch.error();
    std::vector<std::int64_t> shape = batch->shape_with(sides->rows(), sides->columns());
    if (vectors) shape.pop_back();
    const Result<TensorArgument> result = arguments.result_at(4, a.dtype(), shape);
    if (!result) return result.error();
    const Result<TensorArgument> lu = arguments.result_at(5, a.dtype(), a.shape());
    if (!lu) return lu.error();
    const Result<TensorArgument> pivots =
        arguments.result_at(6, DType::kInt32, systems->shape_with({size}));
    if (!pivots) return pivots.error();
    const Result<TensorArgument> info =
        arguments.result_at(7, DType::kInt32, systems->shape_with({}));
    if (!info) return info.error();
    if (Status apart = require_apart(*pivots, {*result, *lu, *info}); !apart) return apart;
    const Matrices factors = *Matrices::of(*lu, "LU");
    const Matrices results =
        vectors ? *Matrices::of_vectors(*result, "result") : *Matrices::of(*result, "result");
    const std::span<std::int32_t> exchanges = elements<std::int32_t>(*pivots);
    const std::span<std::int32_t> infos = elements<std::int32_t>(*info);
    with_matrix_type(a.dtype(), [&]<typename T>() {
      for_each_matrix(systems->count(), size * size * size, [&](std::int64_t i) {
        factors.at<T>(i) = systems->at<T>(i);
        infos[static_cast<std::size_t>(i)] =
            factor_lu<T>(factors.at<T>(i), pivots_of(exchanges, i, size));
      });
      for_each_matrix(batch->count(), size * sides->rows() * sides->columns(), [&](auto i) {
        const auto place = static_cast<std::size_t>(i);
        const std::int64_t system = batch->first[place];
        const Pivots rows = pivots_of(exchanges, system, size);
        results.at<T>(i) = sides->at<T>(batch->second[place]);
        solve_on<T>(left, factors.at<T>(system), rows, results.at<T>(i));
      });
    });
    return check_errors ? require_factors(infos) : Status();
  }
};

struct LinalgLuSolve {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_lu_solve.out(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool "
      "adjoint=False, Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument lu = arguments.tensor(0);
    const TensorArgument pivots = arguments.tensor(1);
    const TensorArgument b = arguments.tensor(2);
    const bool left = arguments.boolean(3);
    const bool adjoint = arguments.boolean(4);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> factors = Matrices::of(lu, "LU");
    if (!factors) return factors.error();
    if (Status square = require_square(*factors, "LU"); !square) return square;
    const Result<Matrices> sides = Matrices::of(b, "B");
    if (!sides) return sides.error();
    if (Status same = require_same_type(*factors, *sides); !same) return same;
    const std::int64_t size = factors->rows();
    if ((left ? sides->rows() : sides->columns()) != size) {
      return Error{ErrorCode::kEngine, "LU and B are of different sizes"};
    }
    if (pivots.dtype() != DType::kInt32 || !pivots.is_row_major() ||
        !std::ranges::equal(pivots.shape(), factors->shape_with({size}))) {
      return Error{ErrorCode::kEngine, "pivots are not as many int32 as LU has rows"};
    }
    const std::span<std::int32_t> exchanges = elements<std::int32_t>(pivots);
    if (!are_pivots(exchanges, size)) return Error{ErrorCode::kEngine, "pivots are no rows of LU"};
    const Result<BroadcastBatch> batch = broadcast(*factors, *sides);
    if (!batch) return batch.error();
    const Result<TensorArgument> result =
        arguments.result_at(5, b.dtype(), batch->shape_with(sides->rows(), sides->columns()));
    if (!result) return result.error();
    if (Status apart = require_apart(pivots, {*result}); !apart) return apart;
    const Matrices results = *Matrices::of(*result, "out");
    with_matrix_type(b.dtype(), [&]<typename T>() {
      for_each_matrix(batch->count(), size * sides->rows() * sides->columns(), [&](auto i) {
        const auto place = static_cast<std::size_t>(i);
        const std::int64_t system = batch->first[place];
        const Pivots rows = pivots_of(exchanges, system, size);
        results.at<T>(i) = sides->at<T>(batch->second[place]);
        if (left) {
          solve_by_lu<T>(factors->at<T>(system), rows, results.at<T>(i), adjoint);
        } else {
          solve_on_right<T>(factors->at<T>(system), rows, results.at<T>(i), adjoint);
        }
      });
    });
    return {};
  }
};

// Triangular systems of batches, in place of right-hand sides that `out` has a copy of.
void solve_triangles(const Matrices& triangles, const BroadcastBatch& batch,
                     const Triangle& triangle, const Matrices& sides, const Matrices& results) {
  with_matrix_type(results.dtype(), [&]<typename T>() {
    const std::int64_t cost = triangles.rows() * sides.rows() * sides.columns();
    for_each_matrix(batch.count(), cost, [&](std::int64_t i) {
      const auto place = static_cast<std::size_t>(i);
      results.at<T>(i) = sides.at<T>(batch.second[place]);
      solve_triangle<T>(triangles.at<T>(batch.first[place]), triangle, results.at<T>(i));
    });
  });
}

struct LinalgSolveTriangular {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_solve_triangular.out(Tensor self, Tensor B, *, bool upper, bool left=True, "
      "bool unitriangular=False, Tensor(a!) out) -> Tensor(a!)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument a = arguments.tensor(0);
    const TensorArgument b = arguments.tensor(1);
    const Triangle triangle{.is_upper = arguments.boolean(2), .has_ones = arguments.boolean(4)};
    const bool left = arguments.boolean(3);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> triangles = Matrices::of(a, "A");
    if (!triangles) return triangles.error();
    if (Status square = require_square(*triangles, "A"); !square) return square;
    const Result<Matrices> sides = Matrices::of(b, "B");
    if (!sides) return sides.error();
    if (Status same = require_same_type(*triangles, *sides); !same) return same;
    if ((left ? sides->rows() : sides->columns()) != triangles->rows()) {
      return Error{ErrorCode::kEngine, "A and B are of different sizes"};
    }
    const Result<BroadcastBatch> batch = broadcast(*triangles, *sides);
    if (!batch) return batch.error();
    const Result<TensorArgument> result =
        arguments.result_at(5, b.dtype(), batch->shape_with(sides->rows(), sides->columns()));
    if (!result) return result.error();
    const Matrices results = *Matrices::of(*result, "out");
    if (left) {
      solve_triangles(*triangles, *batch, triangle, *sides, results);
    } else {
      solve_on_right_of(*triangles, *batch, triangle, *sides, results);
    }
    return {};
  }

 private:
  static void solve_on_right_of(const Matrices& triangles, const BroadcastBatch& batch,
                                Triangle triangle, const Matrices& sides, const Matrices& results) {
    triangle.is_transposed = true;
    with_matrix_type(results.dtype(), [&]<typename T>() {
      const std::int64_t cost = triangles.rows() * sides.rows() * sides.columns();
      for_each_matrix(batch.count(), cost, [&](std::int64_t i) {
        const auto place = static_cast<std::size_t>(i);
        Matrix<T> turned = sides.at<T>(batch.second[place]).transpose();
        solve_triangle<T>(triangles.at<T>(batch.first[place]), triangle,
                          {turned.data(), turned.rows(), turned.cols()});
        results.at<T>(i) = turned.transpose();
      });
    });
  }
};

struct TriangularSolve {
  static constexpr OperatorSchema kSchema{
      "aten::triangular_solve.X(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool "
      "unitriangular=False, *, Tensor(a!) X, Tensor(b!) M) -> (Tensor(a!) solution, Tensor(b!) "
      "cloned_coefficient)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument b = arguments.tensor(0);
    const TensorArgument a = arguments.tensor(1);
    const Triangle triangle{.is_upper = arguments.boolean(2),
                            .is_transposed = arguments.boolean(3),
                            .has_ones = arguments.boolean(4)};
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> triangles = Matrices::of(a, "A");
    if (!triangles) return triangles.error();
    if (Status square = require_square(*triangles, "A"); !square) return square;
    const Result<Matrices> sides = Matrices::of(b, "self");
    if (!sides) return sides.error();
    if (Status same = require_same_type(*triangles, *sides); !same) return same;
    if (sides->rows() != triangles->rows()) {
      return Error{ErrorCode::kEngine, "A and self are of different sizes"};
    }
    const Result<BroadcastBatch> batch = broadcast(*triangles, *sides);
    if (!batch) return batch.error();
    const Result<TensorArgument> result =
        arguments.result_at(5, b.dtype(), batch->shape_with(sides->rows(), sides->columns()));
    if (!result) return result.error();
    const Result<TensorArgument> copied =
        arguments.result_at(6, a.dtype(), batch->shape_with(triangles->rows(), triangles->rows()));
    if (!copied) return copied.error();
    const Matrices copies = *Matrices::of(*copied, "M");
    const Result<BroadcastBatch> copied_batch = broadcast(*triangles, copies);
    if (!copied_batch) return copied_batch.error();
    with_matrix_type(a.dtype(), [&]<typename T>() {
      for (std::int64_t i = 0; i < copied_batch->count(); ++i) {
        copies.at<T>(i) = triangles->at<T>(copied_batch->first[static_cast<std::size_t>(i)]);
      }
    });
    solve_triangles(*triangles, *batch, triangle, *sides, *Matrices::of(*result, "X"));
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> linear_solve_operators() {
  return listed<LinalgInvEx, LinalgLuSolve, LinalgSolveEx, LinalgSolveTriangular,
                TriangularSolve>();
}

}  // namespace polystate
