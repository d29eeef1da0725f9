#include <Eigen/Core>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/lu_factors.h"
#include "engine/executorch/aten/matrices.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// Of the approximation of exp(x) by a quotient of polynomials of degree 13, p(x) / p(-x).
constexpr std::array kCoefficients = {64764752532480000.0,
                                      32382376266240000.0,
                                      7771770303897600.0,
                                      1187353796428800.0,
                                      129060195264000.0,
                                      10559470521600.0,
                                      670442572800.0,
                                      33522128640.0,
                                      1323241920.0,
                                      40840800.0,
                                      960960.0,
                                      16380.0,
                                      182.0,
                                      1.0};
// Up to this norm it is exact in double precision.
constexpr double kLargestNorm = 5.371920351148152;

// Of the lower half of the terms of one kind, and of the upper half, which is multiplied by A^6.
Matrix<double> half_of_polynomial(const std::array<Matrix<double>, 4>& powers, std::size_t first) {
  Matrix<double> upper = kCoefficients[first + 8] * powers[1];
  upper += kCoefficients[first + 10] * powers[2] + kCoefficients[first + 12] * powers[3];
  Matrix<double> sum = powers[3] * upper;
  for (std::size_t i = 0; i < powers.size(); ++i) sum += kCoefficients[first + 2 * i] * powers[i];
  return sum;
}

// By scaling and squaring (Higham 2005, "The scaling and squaring method for the matrix
// exponential revisited").
Matrix<double> exponential(Matrix<double> a) {
  if (a.size() == 1) return Matrix<double>::Constant(1, 1, std::exp(a(0, 0)));
  const double norm = a.cwiseAbs().colwise().sum().maxCoeff();
  if (!std::isfinite(norm)) {
    return Matrix<double>::Constant(a.rows(), a.cols(), std::numeric_limits<double>::quiet_NaN());
  }
  const int squarings =
      norm > kLargestNorm ? static_cast<int>(std::ceil(std::log2(norm / kLargestNorm))) : 0;
  a *= std::ldexp(1.0, -squarings);
  std::array<Matrix<double>, 4> powers;
  powers[0].setIdentity(a.rows(), a.cols());
  powers[1] = a * a;
  powers[2] = powers[1] * powers[1];
  powers[3] = powers[2] * powers[1];
  const Matrix<double> odd = a * half_of_polynomial(powers, 1);
  const Matrix<double> even = half_of_polynomial(powers, 0);
  Matrix<double> result = even + odd;
  Matrix<double> divisor = even - odd;
  std::vector<std::int32_t> pivots(static_cast<std::size_t>(a.rows()));
  const MatrixView<double> factors(divisor.data(), a.rows(), a.cols());
  factor_lu<double>(factors, pivots);
  solve_by_lu<double>(factors, pivots, {result.data(), a.rows(), a.cols()}, false);
  for (int i = 0; i < squarings; ++i) result = (result * result).eval();
  return result;
}

struct LinalgMatrixExp {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_matrix_exp.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"};
  static Status run(ProgramArguments& arguments) {
    const TensorArgument self = arguments.tensor(0);
    if (!arguments.status()) return arguments.status();
    const Result<Matrices> matrices = Matrices::of(self, "self");
    if (!matrices) return matrices.error();
    if (Status square = require_square(*matrices, "self"); !square) return square;
    const Result<TensorArgument> out = arguments.result_at(1, self.dtype(), self.shape());
    if (!out) return out.error();
    if (matrices->is_empty()) return {};
    const Matrices results = *Matrices::of(*out, "out");
    const std::int64_t size = matrices->rows();
    for_each_matrix(matrices->count(), 15 * size * size * size,
                    [&](std::int64_t i) { results.set(i, exponential(matrices->copy(i))); });
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> matrix_exponential_operators() { return listed<LinalgMatrixExp>(); }

}  // namespace polystate
