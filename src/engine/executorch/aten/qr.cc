#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/matrices.h"
#include "engine/executorch/aten/reflections.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

// Factors A = Q R, computed in double precision.
namespace polystate {
namespace {

// The first `count` columns of Q, the product of at most as many reflections. Reflection i leaves
// the columns before column i as they are, also where it has NaN or infinities.
Columns first_columns_of_q(const Columns& packed, const DoubleVector& scales, Eigen::Index count) {
  Columns q = Columns::Identity(packed.rows(), count);
  for (Eigen::Index i = scales.size() - 1; i >= 0; --i) {
    const Eigen::Index below = packed.rows() - i - 1;
    apply_reflection(packed, scales(i), i, q.rightCols(count - i - 1));
    q(i, i) = 1 - scales(i);
    q.col(i).tail(below) = -scales(i) * packed.col(i).tail(below);
  }
  return q;
}

std::int64_t cost_of(const Matrices& matrices) {
  return 2 * matrices.rows() * matrices.columns() * std::min(matrices.rows(), matrices.columns());
}

struct LinalgQr {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_qr.out(Tensor A, str mode=\"reduced\", *, Tensor(a!) Q, Tensor(b!) R) -> "
      "(Tensor(a!) Q, Tensor(b!) R)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument a = arguments.tensor(0);
    const std::string_view mode = arguments.text(1);
    if (!arguments.status()) return arguments.status();
    if (mode != "reduced" && mode != "complete" && mode != "r") {
      return Error{ErrorCode::kEngine, "mode is none of 'reduced', 'complete' and 'r'"};
    }
    const Result<Matrices> matrices = Matrices::of(a, "A");
    if (!matrices) return matrices.error();
    const std::int64_t rows = matrices->rows();
    const std::int64_t columns = matrices->columns();
    const std::int64_t size = mode == "complete" ? rows : std::min(rows, columns);
    const bool has_q = mode != "r";
    const std::vector<std::int64_t> none{0};
    const Result<TensorArgument> q =
        arguments.result_at(2, a.dtype(), has_q ? matrices->shape_with({rows, size}) : none);
    if (!q) return q.error();
    const Result<TensorArgument> r =
        arguments.result_at(3, a.dtype(), matrices->shape_with({size, columns}));
    if (!r) return r.error();
    const Matrices qs = has_q ? *Matrices::of(*q, "Q") : *Matrices::of_vectors(*q, "Q");
    const Matrices rs = *Matrices::of(*r, "R");
    for_each_matrix(matrices->count(), cost_of(*matrices), [&](std::int64_t i) {
      Columns packed = matrices->copy(i);
      const DoubleVector scales = reflect(packed);
      Matrix<double> upper = packed.topRows(size);
      upper.triangularView<Eigen::StrictlyLower>().setZero();
      rs.set(i, upper);
      if (!has_q) return;
      qs.set(i, first_columns_of_q(packed, scales, size));
    });
    return {};
  }
};

struct Geqrf {
  static constexpr OperatorSchema kSchema{
      "aten::geqrf.a(Tensor self, *, Tensor(a!) a, Tensor(b!) tau) -> (Tensor(a!) a, Tensor(b!) "
      "tau)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> matrices = Matrices::of(self, "self");
    if (!matrices) return matrices.error();
    const std::int64_t size = std::min(matrices->rows(), matrices->columns());
    const Result<TensorArgument> a = arguments.result_at(1, self.dtype(), self.shape());
    if (!a) return a.error();
    const Result<TensorArgument> tau =
        arguments.result_at(2, self.dtype(), matrices->shape_with({size}));
    if (!tau) return tau.error();
    const Matrices factors = *Matrices::of(*a, "a");
    const Matrices all_scales = *Matrices::of_vectors(*tau, "tau");
    for_each_matrix(matrices->count(), cost_of(*matrices), [&](std::int64_t i) {
      Columns packed = matrices->copy(i);
      const DoubleVector scales = reflect(packed);
      factors.set(i, packed);
      all_scales.set(i, scales);
    });
    return {};
  }
};

// Fails where two tensors are not of one batch.
Status require_same_batch(const Matrices& a, const Matrices& b) {
  if (Status same = require_same_type(a, b); !same) return same;
  if (a.batch() == b.batch()) return {};
  return Error{ErrorCode::kEngine, "tensors of several batches"};
}

struct LinalgHouseholderProduct {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_householder_product.out(Tensor input, Tensor tau, *, Tensor(a!) out) -> "
      "Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument input = arguments.tensor(0);
    const TensorArgument tau = arguments.tensor(1);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> vectors = Matrices::of(input, "input");
    if (!vectors) return vectors.error();
    const Result<Matrices> scales = Matrices::of_vectors(tau, "tau");
    if (!scales) return scales.error();
    if (Status same = require_same_batch(*vectors, *scales); !same) return same;
    if (vectors->rows() < vectors->columns() || vectors->columns() < scales->rows()) {
      return Error{ErrorCode::kEngine, "more reflections than input has columns, or rows"};
    }
    const Result<TensorArgument> out = arguments.result_at(2, input.dtype(), input.shape());
    if (!out) return out.error();
    const Matrices products = *Matrices::of(*out, "out");
    for_each_matrix(vectors->count(), cost_of(*vectors), [&](std::int64_t i) {
      products.set(
          i, first_columns_of_q(vectors->copy(i), scales->copy(i).col(0), vectors->columns()));
    });
    return {};
  }
};

struct Ormqr {
  static constexpr OperatorSchema kSchema{
      "aten::ormqr.out(Tensor self, Tensor input2, Tensor input3, bool left=True, bool "
      "transpose=False, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    const TensorArgument tau = arguments.tensor(1);
    const TensorArgument other = arguments.tensor(2);
    const bool left = arguments.boolean(3);
    const bool transpose = arguments.boolean(4);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> vectors = Matrices::of(self, "self");
    if (!vectors) return vectors.error();
    const Result<Matrices> scales = Matrices::of_vectors(tau, "input2");
    if (!scales) return scales.error();
    const Result<Matrices> factors = Matrices::of(other, "input3");
    if (!factors) return factors.error();
    if (Status same = require_same_batch(*vectors, *scales); !same) return same;
    if (Status same = require_same_batch(*vectors, *factors); !same) return same;
    const std::int64_t size = left ? factors->rows() : factors->columns();
    if (vectors->rows() != size || scales->rows() > std::min(vectors->rows(), vectors->columns())) {
      return Error{ErrorCode::kEngine, "self, input2 and input3 are of different sizes"};
    }
    const Result<TensorArgument> out = arguments.result_at(5, other.dtype(), other.shape());
    if (!out) return out.error();
    const Matrices products = *Matrices::of(*out, "out");
    const std::int64_t cost = 2 * factors->rows() * factors->columns() * scales->rows();
    for_each_matrix(vectors->count(), cost, [&](std::int64_t i) {
      Columns product = factors->copy(i);
      if (!left) product.transposeInPlace();  // X Q = (Q^T X^T)^T
      multiply_by_q(vectors->copy(i), scales->copy(i).col(0), transpose == left, product);
      if (!left) product.transposeInPlace();
      products.set(i, product);
    });
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> qr_operators() {
  return listed<Geqrf, LinalgHouseholderProduct, LinalgQr, Ormqr>();
}

}  // namespace polystate
