#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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

// Factors of symmetric matrices that are positive-definite, A = L L^T = U^T U.
namespace polystate {
namespace {

template <typename T>
T dot(const T* a, const T* b, std::int64_t count) {
  T sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

// L in place of the lower triangle. The place of the first minor that is not positive, counted from
// 1; 0 where every minor is positive.
template <typename T>
std::int32_t factor_small(MatrixView<T> a) {
  const std::int64_t size = a.rows();
  for (std::int64_t i = 0; i < size; ++i) {
    T* const row = a.data() + i * size;
    for (std::int64_t j = 0; j < i; ++j) {
      const T* const other = a.data() + j * size;
      row[j] = (row[j] - dot(row, other, j)) / other[j];
    }
    const T left = row[i] - dot(row, row, i);
    if (!(left > 0)) return static_cast<std::int32_t>(i + 1);
    row[i] = std::sqrt(left);
  }
  return 0;
}

template <typename T>
std::int32_t factor_large(MatrixView<T> a) {
  const auto failed = Eigen::internal::llt_inplace<T, Eigen::Lower>::blocked(a);
  const Eigen::Index last = failed < 0 ? a.rows() : failed;
  for (Eigen::Index i = 0; i < last; ++i) {
    if (std::isnan(a(i, i))) return static_cast<std::int32_t>(i + 1);  // which Eigen lets pass
  }
  return static_cast<std::int32_t>(failed + 1);
}

template <typename T>
std::int32_t factor(MatrixView<T> a, bool upper) {
  if (a.rows() == 0) return 0;
  if (upper) a = a.transpose().eval();
  const std::int32_t failed = a.rows() <= kSmallMatrix ? factor_small(a) : factor_large(a);
  a.template triangularView<Eigen::StrictlyUpper>().setZero();
  if (upper) a = a.transpose().eval();
  return failed;
}

struct LinalgCholeskyEx {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_cholesky_ex.L(Tensor self, *, bool upper=False, bool check_errors=False, "
      "Tensor(a!) L, Tensor(b!) info) -> (Tensor(a!) L, Tensor(b!) info)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const bool upper = arguments.boolean(1);
    const bool check_errors = arguments.boolean(2);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> matrices = Matrices::of(self, "self");
    if (!matrices) return matrices.error();
    if (const Status square = require_square(*matrices, "self"); !square) return square;
    const Result<TensorArgument> l = arguments.result_at(3, self.dtype(), self.shape());
    if (!l) return l.error();
    const Result<TensorArgument> info =
        arguments.result_at(4, DType::kInt32, matrices->shape_with({}));
    if (!info) return info.error();
    const Matrices factors = *Matrices::of(*l, "L");
    const std::span<std::int32_t> infos = elements<std::int32_t>(*info);
    const std::int64_t size = matrices->rows();
    with_matrix_type(self.dtype(), [&]<typename T>() {
      for_each_matrix(matrices->count(), size * size * size / 3, [&](std::int64_t i) {
        factors.at<T>(i) = matrices->at<T>(i);
        infos[static_cast<std::size_t>(i)] = factor<T>(factors.at<T>(i), upper);
      });
    });
    return check_errors ? require_factors(infos) : Status();
  }
};

// X of A X = B, in place of B, by A's factor.
template <typename T>
void solve(const MatrixView<T>& factor, bool upper, MatrixView<T> b) {
  solve_triangle<T>(factor, {.is_upper = upper, .is_transposed = upper}, b);
  solve_triangle<T>(factor, {.is_upper = upper, .is_transposed = !upper}, b);
}

struct CholeskySolve {
  static constexpr OperatorSchema kSchema{
      "aten::cholesky_solve.out(Tensor self, Tensor input2, bool upper=False, *, Tensor(a!) out) "
      "-> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument b = arguments.tensor(0);
    const TensorArgument l = arguments.tensor(1);
    const bool upper = arguments.boolean(2);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> factors = Matrices::of(l, "input2");
    if (!factors) return factors.error();
    if (const Status square = require_square(*factors, "input2"); !square) return square;
    const Result<Matrices> sides = Matrices::of(b, "self");
    if (!sides) return sides.error();
    if (const Status same = require_same_type(*factors, *sides); !same) return same;
    if (sides->rows() != factors->rows()) {
      return Error{ErrorCode::kEngine, "self and input2 are of different sizes"};
    }
    const Result<BroadcastBatch> batch = broadcast(*factors, *sides);
    if (!batch) return batch.error();
    const Result<TensorArgument> out =
        arguments.result_at(3, b.dtype(), batch->shape_with(sides->rows(), sides->columns()));
    if (!out) return out.error();
    const Matrices results = *Matrices::of(*out, "out");
    const std::int64_t cost = 2 * sides->rows() * sides->rows() * sides->columns();
    with_matrix_type(b.dtype(), [&]<typename T>() {
      for_each_matrix(batch->count(), cost, [&](std::int64_t i) {
        const auto place = static_cast<std::size_t>(i);
        results.at<T>(i) = sides->at<T>(batch->second[place]);
        solve<T>(factors->at<T>(batch->first[place]), upper, results.at<T>(i));
      });
    });
    return {};
  }
};

// In PyTorch's words. NaN is a number like others.
template <typename T>
Status require_regular(const Matrices& factors) {
  for (std::int64_t i = 0; i < factors.count(); ++i) {
    const auto diagonal = factors.at<T>(i).diagonal();
    for (std::int64_t place = 0; place < diagonal.size(); ++place) {
      if (diagonal[place] == T{}) {
        return Error{ErrorCode::kEngine,
                     "cholesky_inverse: (Batch element " + std::to_string(i) +
                         "): The diagonal element " + std::to_string(place + 1) +
                         " is zero, the inversion could not be completed because the input matrix "
                         "is singular"};
      }
    }
  }
  return {};
}

struct CholeskyInverse {
  static constexpr OperatorSchema kSchema{
      "aten::cholesky_inverse.out(Tensor self, bool upper=False, *, Tensor(a!) out) -> "
      "Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const bool upper = arguments.boolean(1);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> factors = Matrices::of(self, "self");
    if (!factors) return factors.error();
    if (const Status square = require_square(*factors, "self"); !square) return square;
    const Result<TensorArgument> out = arguments.result_at(2, self.dtype(), self.shape());
    if (!out) return out.error();
    const Matrices inverses = *Matrices::of(*out, "out");
    const std::int64_t size = factors->rows();
    Status regular;
    with_matrix_type(self.dtype(), [&]<typename T>() {
      regular = require_regular<T>(*factors);
      if (!regular) return;
      for_each_matrix(factors->count(), 2 * size * size * size, [&](std::int64_t i) {
        inverses.at<T>(i).setIdentity();
        solve<T>(factors->at<T>(i), upper, inverses.at<T>(i));
      });
    });
    return regular;
  }
};

}  // namespace

std::span<const ListedOperator> cholesky_operators() {
  return listed<CholeskyInverse, CholeskySolve, LinalgCholeskyEx>();
}

}  // namespace polystate
