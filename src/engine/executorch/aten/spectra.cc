#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/matrices.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "kernels/vector_sign.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Eigenvalues of symmetric matrices, and singular values, with their vectors. Computed in double
// precision.
namespace polystate {
namespace {

bool has_other_sign(const Eigen::Ref<const DoubleVector>& vector) {
  return polystate::has_other_sign(vector.data(), vector.size(), 1);
}

Error no_numbers(const char* api) {
  return {ErrorCode::kEngine, std::string(api) +
                                  ": the algorithm failed to converge because the input matrix "
                                  "contained non-finite values"};
}

void fill_with_nan(const Matrices& matrices, std::int64_t index) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  matrices.set(index, Matrix<double>::Constant(matrices.rows(), matrices.columns(), kNan));
}

Status converged(bool failed, const char* api) {
  if (!failed) return {};
  return Error{ErrorCode::kEngine,
               std::string(api) +
                   ": the algorithm failed to converge because the input matrix is "
                   "ill-conditioned or has too many repeated values"};
}

// Results of a batch, of which vectors may not be wanted.
struct Spectra {
  Matrices values;
  std::vector<Matrices> vectors;  // of each kind, or none

  void fill_with_nan(std::int64_t index) const {
    polystate::fill_with_nan(values, index);
    for (const Matrices& each : vectors) polystate::fill_with_nan(each, index);
  }
};

// One symmetric matrix in terms of its eigenvalues and eigenvectors; false where that failed.
bool decompose_symmetric(Eigen::MatrixXd matrix, const Spectra& spectra, std::int64_t index) {
  const bool has_vectors = !spectra.vectors.empty();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      matrix, has_vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  if (solver.info() != Eigen::Success) return false;
  spectra.values.set(index, solver.eigenvalues());
  if (!has_vectors) return true;
  matrix = solver.eigenvectors();
  for (auto vector : matrix.colwise()) {
    if (has_other_sign(vector)) vector = -vector;
  }
  spectra.vectors[0].set(index, matrix);
  return true;
}

Result<bool> is_upper(std::string_view triangle) {
  if (triangle == "U" || triangle == "u") return true;
  if (triangle == "L" || triangle == "l") return false;
  return Error{ErrorCode::kEngine, "UPLO is '" + std::string(triangle) + "', not 'L' or 'U'"};
}

struct LinalgEigh {
  static constexpr OperatorSchema kSchema{
      "aten::_linalg_eigh.eigenvalues(Tensor A, str UPLO=\"L\", bool compute_v=True, *, Tensor(a!) "
      "eigenvalues, Tensor(b!) eigenvectors) -> (Tensor(a!) eigenvalues, Tensor(b!) eigenvectors)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument a = arguments.tensor(0);
    const Result<bool> reads_upper = is_upper(arguments.text(1));
    const bool has_vectors = arguments.boolean(2);
    if (!arguments.status()) return arguments.status();
    if (!reads_upper) return reads_upper.error();
    const Result<Matrices> matrices = Matrices::of(a, "A");
    if (!matrices) return matrices.error();
    if (Status square = require_square(*matrices, "A"); !square) return square;
    const auto triangle_of = [&](std::int64_t i) -> Eigen::MatrixXd {
      Eigen::MatrixXd matrix = matrices->copy(i);
      if (*reads_upper) matrix.transposeInPlace();
      return matrix.triangularView<Eigen::Lower>();
    };
    // PyTorch refuses these, too; of matrices of one or two rows it returns some numbers.
    for (std::int64_t i = 0; i < matrices->count(); ++i) {
      if (!triangle_of(i).allFinite()) return no_numbers("linalg.eigh");
    }
    const std::int64_t size = matrices->rows();
    const Result<TensorArgument> values =
        arguments.result_at(3, a.dtype(), matrices->shape_with({size}));
    if (!values) return values.error();
    const std::vector<std::int64_t> none{0};
    const Result<TensorArgument> vectors =
        arguments.result_at(4, a.dtype(), has_vectors ? matrices->shape_with({size, size}) : none);
    if (!vectors) return vectors.error();
    if (matrices->is_empty()) return {};
    Spectra spectra{*Matrices::of_vectors(*values, "eigenvalues"), {}};
    if (has_vectors) spectra.vectors.push_back(*Matrices::of(*vectors, "eigenvectors"));
    std::atomic<bool> failed = false;
    for_each_matrix(matrices->count(), 9 * size * size * size, [&](std::int64_t i) {
      if (!decompose_symmetric(triangle_of(i), spectra, i)) failed = true;
    });
    return converged(failed, "linalg.eigh");
  }
};

struct SingularVectors {
  Eigen::MatrixXd left;
  DoubleVector values;
  Eigen::MatrixXd right;
};

void choose_signs(SingularVectors& found) {
  for (Eigen::Index i = 0; i < found.left.cols(); ++i) {
    if (!has_other_sign(found.left.col(i))) continue;
    found.left.col(i) *= -1;
    if (i < found.values.size()) found.right.col(i) *= -1;
  }
  for (Eigen::Index i = found.values.size(); i < found.right.cols(); ++i) {
    if (has_other_sign(found.right.col(i))) found.right.col(i) *= -1;
  }
}

// What is computed of each matrix of a batch.
struct WantedVectors {
  bool vectors;
  bool full_bases;  // also those vectors that belong to no singular value
  bool float32;     // the numbers and results are those of float32
};

// Decomposes [m, n], m >= n, by the eigenvalues of A^T A, in a third of the time. False where
// singular values are so far apart that squares lose digits that float32 has: vectors are off by
// n * 2^-53 times the ratio of the largest and the smallest square.
bool decompose_by_squares(const Eigen::MatrixXd& a, const WantedVectors& wanted,
                          SingularVectors& found) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> squares(
      a.transpose() * a, wanted.vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  if (squares.info() != Eigen::Success) return false;
  const double least = squares.eigenvalues().minCoeff();
  const double most = squares.eigenvalues().maxCoeff();
  if (!(least > 1e-8 * static_cast<double>(a.cols()) * most)) return false;
  found.values = squares.eigenvalues().reverse().cwiseSqrt();  // the largest first
  if (!wanted.vectors) return true;
  found.right = squares.eigenvectors().rowwise().reverse();
  found.left = a * found.right * found.values.cwiseInverse().asDiagonal();
  return true;
}

// The same of any [m, n] for which that is exact enough and faster; false where it is not.
bool decompose_small(const Eigen::MatrixXd& a, const WantedVectors& wanted,
                     SingularVectors& found) {
  constexpr Eigen::Index kLargest = 32;  // of these it was measured to be faster
  const bool needs_more_vectors = wanted.full_bases && a.rows() != a.cols();
  if (!wanted.float32 || needs_more_vectors || std::min(a.rows(), a.cols()) > kLargest) {
    return false;
  }
  if (a.rows() >= a.cols()) return decompose_by_squares(a, wanted, found);
  if (!decompose_by_squares(a.transpose(), wanted, found)) return false;
  std::swap(found.left, found.right);
  return true;
}

// The same of any [m, n] with elements; false where that failed.
bool decompose_any(const Eigen::MatrixXd& a, const WantedVectors& wanted, SingularVectors& found) {
  unsigned options = 0;
  if (wanted.vectors) {
    options = wanted.full_bases ? Eigen::ComputeFullU | Eigen::ComputeFullV
                                : Eigen::ComputeThinU | Eigen::ComputeThinV;
  }
  const Eigen::BDCSVD<Eigen::MatrixXd> svd(a, options);
  if (svd.info() != Eigen::Success) return false;
  found.values = svd.singularValues();
  if (!wanted.vectors) return true;
  found.left = svd.matrixU();
  found.right = svd.matrixV();
  return found.left.allFinite() && found.right.allFinite();
}

// A [m, n] in terms of singular values and vectors; false where that failed.
bool decompose(const Eigen::MatrixXd& a, const WantedVectors& wanted, SingularVectors& found) {
  if (a.size() == 0) {
    found.left.setIdentity(a.rows(), wanted.full_bases ? a.rows() : 0);
    found.right.setIdentity(a.cols(), wanted.full_bases ? a.cols() : 0);
    return true;
  }
  if (!decompose_small(a, wanted, found) && !decompose_any(a, wanted, found)) return false;
  if (wanted.vectors) choose_signs(found);
  return true;
}

// One matrix, into the results of its batch.
bool decompose_into(const Spectra& spectra, std::int64_t index, const Eigen::MatrixXd& matrix,
                    const WantedVectors& wanted) {
  if (!matrix.allFinite()) {
    spectra.fill_with_nan(index);
    return true;
  }
  SingularVectors found;
  if (!decompose(matrix, wanted, found)) return false;
  if (found.values.size() > 0) spectra.values.set(index, found.values);
  if (wanted.vectors) {
    spectra.vectors[0].set(index, found.left);
    spectra.vectors[1].set(index, found.right.transpose());
  }
  return true;
}

struct LinalgSvd {
  static constexpr OperatorSchema kSchema{
      "aten::_linalg_svd.U(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? "
      "driver=None, Tensor(a!) U, Tensor(b!) S, Tensor(c!) Vh) -> (Tensor(a!) U, Tensor(b!) S, "
      "Tensor(c!) Vh)"};

  static Status run(ProgramArguments& arguments) {
    const TensorArgument a = arguments.tensor(0);
    const bool full = arguments.boolean(1);
    const bool has_vectors = arguments.boolean(2);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> matrices = Matrices::of(a, "A");
    if (!matrices) return matrices.error();
    // PyTorch refuses NaN, and makes all NaN of infinities.
    if (matrices->has_nan()) return no_numbers("linalg.svd");
    const std::int64_t rows = matrices->rows();
    const std::int64_t columns = matrices->columns();
    const std::int64_t size = std::min(rows, columns);
    const std::vector<std::int64_t> none{0};
    const auto shape = [&](std::int64_t m, std::int64_t n) {
      return has_vectors ? matrices->shape_with({m, n}) : none;
    };
    const auto u = arguments.result_at(4, a.dtype(), shape(rows, full ? rows : size));
    if (!u) return u.error();
    const auto s = arguments.result_at(5, a.dtype(), matrices->shape_with({size}));
    if (!s) return s.error();
    const auto vh = arguments.result_at(6, a.dtype(), shape(full ? columns : size, columns));
    if (!vh) return vh.error();
    Spectra spectra{*Matrices::of_vectors(*s, "S"), {}};
    if (has_vectors) spectra.vectors = {*Matrices::of(*u, "U"), *Matrices::of(*vh, "Vh")};
    const WantedVectors wanted{has_vectors, full, a.dtype() == DType::kFloat32};
    std::atomic<bool> failed = false;
    for_each_matrix(matrices->count(), 20 * rows * columns * size, [&](std::int64_t i) {
      if (!decompose_into(spectra, i, matrices->copy(i), wanted)) failed = true;
    });
    return converged(failed, "linalg.svd");
  }
};

}  // namespace

std::span<const ListedOperator> spectral_operators() { return listed<LinalgEigh, LinalgSvd>(); }

}  // namespace polystate
