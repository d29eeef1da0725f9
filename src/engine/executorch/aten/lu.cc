#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
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

// Factors of general matrices by elimination with exchanged rows, and determinants by them.
namespace polystate {
namespace {

Status require_exchanges(bool pivot) {
  if (pivot) return {};
  return Error{ErrorCode::kEngine, "LU without pivoting is not implemented on the CPU"};
}

std::int64_t shorter_side(const Matrices& matrices) {
  return std::min(matrices.rows(), matrices.columns());
}

// Factors `matrices`, or those transposed, into `factors`; calls `done(index, first_zero, pivots)`
// after each.
template <typename T, typename Done>
void factor_all(const Matrices& matrices, const Matrices& factors, std::span<std::int32_t> pivots,
                bool is_transposed, const Done& done) {
  const std::int64_t size = shorter_side(matrices);
  const std::int64_t operations = size * size * std::max(matrices.rows(), matrices.columns());
  for_each_matrix(matrices.count(), operations, [&](std::int64_t i) {
    if (is_transposed) {
      factors.at<T>(i) = matrices.at<T>(i).transpose();
    } else {
      factors.at<T>(i) = matrices.at<T>(i);
    }
    const Pivots rows = pivots_of(pivots, i, size);
    const std::int32_t first_zero = factor_lu<T>(factors.at<T>(i), rows);
    done(i, first_zero, rows);
  });
}

// L [m, k], U [k, n] and P [m, m] of A = P L U, where they are wanted.
struct Unpacked {
  Matrices* p = nullptr;
  Matrices* l = nullptr;
  Matrices* u = nullptr;
};

template <typename T>
void unpack(const MatrixView<T>& lu, Pivots pivots, std::int64_t index, const Unpacked& to) {
  if (to.l != nullptr) {
    MatrixView<T> lower = to.l->at<T>(index);
    lower.setIdentity();
    lower.template triangularView<Eigen::StrictlyLower>() = lu.leftCols(lower.cols());
    MatrixView<T> upper = to.u->at<T>(index);
    upper.setZero();
    upper.template triangularView<Eigen::Upper>() = lu.topRows(upper.rows());
  }
  if (to.p != nullptr) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(lu.rows()));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = 0; i < pivots.size(); ++i) {
      std::swap(order[i], order[static_cast<std::size_t>(pivots[i] - 1)]);
    }
    MatrixView<T> permutation = to.p->at<T>(index);
    permutation.setZero();
    for (std::size_t i = 0; i < order.size(); ++i) {
      permutation(order[i], static_cast<Eigen::Index>(i)) = T(1);
    }
  }
}

struct LinalgLuFactorEx {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_lu_factor_ex.out(Tensor A, *, bool pivot=True, bool check_errors=False, "
      "Tensor(a!) LU, Tensor(b!) pivots, Tensor(c!) info) -> (Tensor(a!) LU, Tensor(b!) pivots, "
      "Tensor(c!) info)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument a = arguments.tensor(0);
    const bool pivot = arguments.boolean(1);
    const bool check_errors = arguments.boolean(2);
    if (!arguments.status()) return arguments.status();
    if (Status possible = require_exchanges(pivot); !possible) return possible;
    const Result<Matrices> matrices = Matrices::of(a, "A");
    if (!matrices) return matrices.error();
    const Result<TensorArgument> lu = arguments.result_at(3, a.dtype(), a.shape());
    if (!lu) return lu.error();
    const Result<TensorArgument> pivots =
        arguments.result_at(4, DType::kInt32, matrices->shape_with({shorter_side(*matrices)}));
    if (!pivots) return pivots.error();
    const Result<TensorArgument> info =
        arguments.result_at(5, DType::kInt32, matrices->shape_with({}));
    if (!info) return info.error();
    const Matrices factors = *Matrices::of(*lu, "LU");
    const std::span<std::int32_t> infos = elements<std::int32_t>(*info);
    with_matrix_type(a.dtype(), [&]<typename T>() {
      factor_all<T>(*matrices, factors, elements<std::int32_t>(*pivots), false,
                    [&](std::int64_t i, std::int32_t first_zero, Pivots) {
                      infos[static_cast<std::size_t>(i)] = first_zero;
                    });
    });
    return check_errors ? require_factors(infos) : Status();
  }
};

struct LinalgLu {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_lu.out(Tensor A, *, bool pivot=True, Tensor(a!) P, Tensor(b!) L, Tensor(c!) U) "
      "-> (Tensor(a!) P, Tensor(b!) L, Tensor(c!) U)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument a = arguments.tensor(0);
    const bool pivot = arguments.boolean(1);
    if (!arguments.status()) return arguments.status();
    if (Status possible = require_exchanges(pivot); !possible) return possible;
    const Result<Matrices> matrices = Matrices::of(a, "A");
    if (!matrices) return matrices.error();
    const std::int64_t rows = matrices->rows();
    const std::int64_t size = shorter_side(*matrices);
    const auto p = arguments.result_at(2, a.dtype(), matrices->shape_with({rows, rows}));
    if (!p) return p.error();
    const auto l = arguments.result_at(3, a.dtype(), matrices->shape_with({rows, size}));
    if (!l) return l.error();
    const auto u =
        arguments.result_at(4, a.dtype(), matrices->shape_with({size, matrices->columns()}));
    if (!u) return u.error();
    Matrices permutations = *Matrices::of(*p, "P");
    Matrices lower = *Matrices::of(*l, "L");
    Matrices upper = *Matrices::of(*u, "U");
    const Unpacked to{.p = &permutations, .l = &lower, .u = &upper};
    with_matrix_type(a.dtype(), [&]<typename T>() {
      for_each_matrix(matrices->count(), rows * rows * size, [&](std::int64_t i) {
        Matrix<T> lu = matrices->at<T>(i);
        std::vector<std::int32_t> pivots(static_cast<std::size_t>(size));
        const MatrixView<T> factors(lu.data(), lu.rows(), lu.cols());
        factor_lu<T>(factors, pivots);
        unpack<T>(factors, pivots, i, to);
      });
    });
    return {};
  }
};

struct LuUnpack {
  static constexpr OperatorSchema kSchema{
      "aten::lu_unpack.out(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool "
      "unpack_pivots=True, *, Tensor(a!) P, Tensor(b!) L, Tensor(c!) U) -> (Tensor(a!) P, "
      "Tensor(b!) L, Tensor(c!) U)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument lu = arguments.tensor(0);
    const TensorArgument pivots = arguments.tensor(1);
    const bool unpack_data = arguments.boolean(2);
    const bool unpack_pivots = arguments.boolean(3);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> factors = Matrices::of(lu, "LU_data");
    if (!factors) return factors.error();
    const std::int64_t rows = factors->rows();
    const std::int64_t size = shorter_side(*factors);
    if (pivots.dtype() != DType::kInt32 || !pivots.is_row_major() ||
        !std::ranges::equal(pivots.shape(), factors->shape_with({size}))) {
      return Error{ErrorCode::kEngine, "LU_pivots are not as many int32 as LU_data's shorter side"};
    }
    const std::span<std::int32_t> exchanges = elements<std::int32_t>(pivots);
    if (!are_pivots(exchanges, rows)) {
      return Error{ErrorCode::kEngine, "LU_pivots are no rows of LU_data"};
    }
    const std::vector<std::int64_t> none{0};
    const auto shape = [&](bool wanted, std::int64_t m, std::int64_t n) {
      return wanted ? factors->shape_with({m, n}) : none;
    };
    const auto p = arguments.result_at(4, lu.dtype(), shape(unpack_pivots, rows, rows));
    if (!p) return p.error();
    const auto l = arguments.result_at(5, lu.dtype(), shape(unpack_data, rows, size));
    if (!l) return l.error();
    const auto u = arguments.result_at(6, lu.dtype(), shape(unpack_data, size, factors->columns()));
    if (!u) return u.error();
    if (Status apart = require_apart(pivots, {*p, *l, *u}); !apart) return apart;
    // Of what is not wanted nothing is read.
    Matrices permutations = *Matrices::of_vectors(*p, "P");
    Matrices lower = *Matrices::of_vectors(*l, "L");
    Matrices upper = *Matrices::of_vectors(*u, "U");
    Unpacked to;
    if (unpack_pivots) {
      permutations = *Matrices::of(*p, "P");
      to.p = &permutations;
    }
    if (unpack_data) {
      lower = *Matrices::of(*l, "L");
      upper = *Matrices::of(*u, "U");
      to.l = &lower;
      to.u = &upper;
    }
    with_matrix_type(lu.dtype(), [&]<typename T>() {
      for_each_matrix(factors->count(), rows * rows, [&](std::int64_t i) {
        unpack<T>(factors->at<T>(i), pivots_of(exchanges, i, size), i, to);
      });
    });
    return {};
  }
};

template <typename T>
T sign_of(Pivots pivots) {
  T sign = 1;
  for (std::size_t i = 0; i < pivots.size(); ++i) {
    if (pivots[i] != static_cast<std::int32_t>(i + 1)) sign = -sign;
  }
  return sign;
}

// Results of both determinants: `count` of them for each matrix, then the factors.
struct Determined {
  std::vector<TensorArgument> results;
  TensorArgument lu;
  TensorArgument pivots;
};

Result<Determined> determined(ProgramArguments& arguments, const Matrices& matrices,
                              std::size_t count) {
  Determined found;
  for (std::size_t i = 0; i < count; ++i) {
    const auto result = arguments.result_at(1 + i, matrices.dtype(), matrices.shape_with({}));
    if (!result) return result.error();
    found.results.push_back(*result);
  }
  const auto lu = arguments.result_at(1 + count, matrices.dtype(),
                                      matrices.shape_with({matrices.rows(), matrices.rows()}));
  if (!lu) return lu.error();
  const auto pivots =
      arguments.result_at(2 + count, DType::kInt32, matrices.shape_with({matrices.rows()}));
  if (!pivots) return pivots.error();
  found.lu = *lu;
  found.pivots = *pivots;
  return found;
}

// The factors are those of A transposed, as PyTorch's are, to which that is column-major.
template <typename Set>
Status determinants(ProgramArguments& arguments, std::size_t results, const Set& set) {
  const TensorArgument a = arguments.tensor(0);
  if (!arguments.status()) return arguments.status();
  const Result<Matrices> matrices = Matrices::of(a, "A");
  if (!matrices) return matrices.error();
  if (Status square = require_square(*matrices, "A"); !square) return square;
  const Result<Determined> to = determined(arguments, *matrices, results);
  if (!to) return to.error();
  const Matrices factors = *Matrices::of(to->lu, "LU");
  with_matrix_type(a.dtype(), [&]<typename T>() {
    factor_all<T>(*matrices, factors, elements<std::int32_t>(to->pivots), true,
                  [&](std::int64_t i, std::int32_t /*first_zero*/, Pivots pivots) {
                    set(factors.at<T>(i), sign_of<T>(pivots), static_cast<std::size_t>(i),
                        to->results);
                  });
  });
  return {};
}

struct LinalgDet {
  static constexpr OperatorSchema kSchema{
      "aten::_linalg_det.result(Tensor A, *, Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots) "
      "-> (Tensor(a!) result, Tensor(b!) LU, Tensor(c!) pivots)"};
  static Status run(ProgramArguments& arguments) {
    return determinants(arguments, 1,
                        []<typename T>(const MatrixView<T>& lu, T sign, std::size_t index,
                                       std::span<const TensorArgument> results) {
                          T product = 1;
                          for (Eigen::Index i = 0; i < lu.rows(); ++i) product *= lu(i, i);
                          elements<T>(results[0])[index] = sign * product;
                        });
  }
};

struct LinalgSlogdet {
  static constexpr OperatorSchema kSchema{
      "aten::_linalg_slogdet.sign(Tensor A, *, Tensor(a!) sign, Tensor(b!) logabsdet, Tensor(c!) "
      "LU, Tensor(d!) pivots) -> (Tensor(a!) sign, Tensor(b!) logabsdet, Tensor(c!) LU, Tensor(d!) "
      "pivots)"};
  static Status run(ProgramArguments& arguments) {
    return determinants(
        arguments, 2,
        []<typename T>(const MatrixView<T>& lu, T sign, std::size_t index,
                       std::span<const TensorArgument> results) {
          T logarithm = 0;
          for (Eigen::Index i = 0; i < lu.rows(); ++i) {
            const T factor = lu(i, i);
            sign *= static_cast<T>((factor > 0) - (factor < 0));  // of NaN 0, as PyTorch's
            logarithm += std::log(std::abs(factor));
          }
          elements<T>(results[0])[index] = sign;
          elements<T>(results[1])[index] = logarithm;
        });
  }
};

}  // namespace

std::span<const ListedOperator> lu_operators() {
  return listed<LinalgDet, LinalgSlogdet, LinalgLu, LinalgLuFactorEx, LuUnpack>();
}

}  // namespace polystate
