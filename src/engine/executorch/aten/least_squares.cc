#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/families.h"
#include "engine/executorch/aten/matrices.h"
#include "engine/executorch/aten/reflections.h"
#include "engine/executorch/operators/listed.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/operator_schema.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

// Solutions of least squares by factors A P = Q R with exchanged columns, as LAPACK's gelsy finds
// them. Computed in double precision.
namespace polystate {
namespace {

// The largest or the smallest singular value of a triangle, estimated as its columns are added
// (LAPACK's laic1).
class SingularValue {
 public:
  SingularValue(double first, bool is_largest, Eigen::Index size)
      : value_(first), is_largest_(is_largest), vector_(DoubleVector::Zero(size)) {
    vector_(0) = 1.0;
  }

  [[nodiscard]] double value() const { return value_; }

  // Adds a column, whose element `index` is on the diagonal.
  void add(const Eigen::Ref<const DoubleVector>& column, Eigen::Index index) {
    const double along = vector_.head(index).dot(column.head(index));
    const double last = column(index);
    // The first right singular vector of [[value, 0], [along, last]] is (cos, sin) of this angle.
    const double angle =
        0.5 * std::atan2(2.0 * along * last, (value_ - last) * (value_ + last) + along * along);
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    const double largest = std::hypot(value_ * cosine, along * cosine + last * sine);
    vector_.head(index) *= is_largest_ ? cosine : -sine;
    vector_(index) = is_largest_ ? sine : cosine;
    const double smallest = largest > 0.0 ? std::abs(value_ * last) / largest : 0.0;
    value_ = is_largest_ ? largest : smallest;
  }

 private:
  double value_;
  bool is_largest_;
  DoubleVector vector_;  // of length 1; R^T times it has about the length `value_`
};

// How many columns of R are taken: as long as their smallest singular value is at least `ratio` of
// the largest.
Eigen::Index rank_of(const Columns& r, double ratio) {
  const Eigen::Index size = std::min(r.rows(), r.cols());
  const double first = std::abs(r(0, 0));
  if (first == 0.0) return 0;
  SingularValue largest(first, true, size);
  SingularValue smallest(first, false, size);
  for (Eigen::Index i = 1; i < size; ++i) {
    largest.add(r.col(i), i);
    smallest.add(r.col(i), i);
    if (!(largest.value() * ratio <= smallest.value())) return i;
  }
  return size;
}

// The exponent e for which the largest element of A / 2^e has a size of 0.5 to 1, so that squares
// of elements neither overflow nor become zero. It is 0 if A has infinities.
int exponent_of(const Columns& a) {
  const double largest = a.cwiseAbs().maxCoeff();
  int exponent = 0;
  if (std::isfinite(largest)) (void)std::frexp(largest, &exponent);
  constexpr int kLargest = 1000;  // 2^-exponent is a number
  return std::clamp(exponent, -kLargest, kLargest);
}

// Q and R, packed, of a matrix whose columns are in this order.
struct PivotedFactors {
  Columns packed;
  DoubleVector scales;
  std::vector<Eigen::Index> order;
};

// The column that is longest below the rows that are done comes next.
PivotedFactors factor(Columns a) {
  PivotedFactors factors{std::move(a), {}, {}};
  Columns& packed = factors.packed;
  factors.scales.resize(std::min(packed.rows(), packed.cols()));
  factors.order.resize(static_cast<std::size_t>(packed.cols()));
  std::iota(factors.order.begin(), factors.order.end(), Eigen::Index{0});
  for (Eigen::Index i = 0; i < factors.scales.size(); ++i) {
    Eigen::Index longest = 0;
    packed.bottomRightCorner(packed.rows() - i, packed.cols() - i)
        .colwise()
        .squaredNorm()
        .maxCoeff(&longest);
    packed.col(i).swap(packed.col(i + longest));
    std::swap(factors.order[static_cast<std::size_t>(i)],
              factors.order[static_cast<std::size_t>(i + longest)]);
    factors.scales(i) = reflect_column(packed, i);
  }
  return factors;
}

// Solves R X = B in place of the first rows of B, by as many rows and columns of R.
void solve_triangle(const Columns& r, Eigen::Index size, Columns& b) {
  for (auto x : b.colwise()) {
    for (Eigen::Index i = size - 1; i >= 0; --i) {
      x(i) /= r(i, i);
      x.head(i) -= x(i) * r.col(i).head(i);
    }
  }
}

// The same for R^T X = B.
void solve_transposed_triangle(const Columns& r, Eigen::Index size, Columns& b) {
  for (auto x : b.colwise()) {
    for (Eigen::Index i = 0; i < size; ++i) {
      x(i) = (x(i) - r.col(i).head(i).dot(x.head(i))) / r(i, i);
    }
  }
}

struct Solved {
  Columns x;
  Eigen::Index rank;
};

// The shortest X of those for which A X is nearest to B, where A counts without what the rank
// leaves out.
Solved solve(Columns a, Columns b, double ratio) {
  const double scale = std::ldexp(1.0, -exponent_of(a));
  a *= scale;
  const PivotedFactors factors = factor(std::move(a));
  const Columns& r = factors.packed;
  const Eigen::Index rank = rank_of(r, ratio);
  multiply_by_q(r, factors.scales, true, b);
  Columns ordered = Columns::Zero(r.cols(), b.cols());
  ordered.topRows(rank) = b.topRows(rank);
  if (rank == r.cols()) {
    solve_triangle(r, rank, ordered);
  } else {
    Columns tall = r.topRows(rank).transpose();
    tall.triangularView<Eigen::StrictlyUpper>().setZero();
    const DoubleVector scales = reflect(tall);
    solve_transposed_triangle(tall, rank, ordered);
    multiply_by_q(tall, scales, false, ordered);
  }
  Columns x(r.cols(), b.cols());
  for (Eigen::Index i = 0; i < r.cols(); ++i) {
    x.row(factors.order[static_cast<std::size_t>(i)]) = ordered.row(i) * scale;
  }
  return {std::move(x), rank};
}

// A X = B, of matrices or vectors, for each matrix of a batch that A and B are broadcast to.
struct Equations {
  Matrices a;
  Matrices b;
  bool are_vectors;  // B and X
  BroadcastBatch batch;
};

Result<Equations> read_equations(ProgramArguments& arguments) {
  const TensorArgument a = arguments.tensor(0);
  const TensorArgument b = arguments.tensor(1);
  const std::string_view driver = arguments.optional_text(3);
  if (!arguments.status()) return arguments.status().error();
  if (!driver.empty() && driver != "gelsy") {
    return Error{ErrorCode::kEngine, "driver is not 'gelsy'"};
  }
  const Result<Matrices> systems = Matrices::of(a, "self");
  if (!systems) return systems.error();
  const bool are_vectors = is_of_vectors(a, b);
  const Result<Matrices> sides = are_vectors ? Matrices::of_vectors(b, "b") : Matrices::of(b, "b");
  if (!sides) return sides.error();
  if (const Status same = require_same_type(*systems, *sides); !same) return same.error();
  if (sides->rows() != systems->rows()) {
    return Error{ErrorCode::kEngine, "self and b differ in their rows"};
  }
  // PyTorch refuses these with MKL.
  if (systems->has_nan() || sides->has_nan()) {
    return Error{ErrorCode::kEngine, "linalg.lstsq: a matrix contains NaN"};
  }
  Result<BroadcastBatch> batch = broadcast(*systems, *sides);
  if (!batch) return batch.error();
  return Equations{*systems, *sides, are_vectors, *std::move(batch)};
}

struct Answers {
  Matrices x;
  std::span<std::int64_t> ranks;  // of each A
};

Result<Answers> answers_to(const Equations& equations, ProgramArguments& arguments) {
  const auto& [a, b, are_vectors, batch] = equations;
  std::vector<std::int64_t> shape = batch.shape_with(a.columns(), b.columns());
  if (are_vectors) shape.pop_back();
  const std::vector<std::int64_t> none{0};
  const Result<TensorArgument> x = arguments.result_at(4, a.dtype(), shape);
  if (!x) return x.error();
  const Result<TensorArgument> residuals = arguments.result_at(5, a.dtype(), none);
  if (!residuals) return residuals.error();
  const Result<TensorArgument> ranks = arguments.result_at(6, DType::kInt64, a.batch());
  if (!ranks) return ranks.error();
  const Result<TensorArgument> values = arguments.result_at(7, a.dtype(), none);
  if (!values) return values.error();
  return Answers{are_vectors ? *Matrices::of_vectors(*x, "x") : *Matrices::of(*x, "x"),
                 elements<std::int64_t>(*ranks)};
}

// Of equations without elements.
void fill_with_zeros(const Answers& answers) {
  std::ranges::fill(answers.ranks, 0);
  if (answers.x.is_empty()) return;
  for (std::int64_t i = 0; i < answers.x.count(); ++i) {
    answers.x.set(i, Columns::Zero(answers.x.rows(), answers.x.columns()));
  }
}

// Singular values below this part of the largest count as zero.
double least_part(const Matrices& a, std::optional<double> given) {
  const double rounding = a.dtype() == DType::kFloat32
                              ? double{std::numeric_limits<float>::epsilon()}
                              : std::numeric_limits<double>::epsilon();
  return given.value_or(rounding * static_cast<double>(std::max(a.rows(), a.columns())));
}

struct LinalgLstsq {
  static constexpr OperatorSchema kSchema{
      "aten::linalg_lstsq.out(Tensor self, Tensor b, float? rcond=None, *, str? driver=None, "
      "Tensor(a!) solution, Tensor(b!) residuals, Tensor(c!) rank, Tensor(d!) singular_values) -> "
      "(Tensor(a!) solution, Tensor(b!) residuals, Tensor(c!) rank, Tensor(d!) singular_values)"};

  static Status run(ProgramArguments& arguments) {
    const std::optional<double> ratio = arguments.optional_scalar(2);
    const Result<Equations> equations = read_equations(arguments);
    if (!equations) return equations.error();
    const Result<Answers> answers = answers_to(*equations, arguments);
    if (!answers) return answers.error();
    const auto& [a, b, are_vectors, batch] = *equations;
    if (batch.count() == 0 || a.is_empty() || b.is_empty()) {
      fill_with_zeros(*answers);
      return {};
    }
    const double least = least_part(a, ratio);
    const std::int64_t cost =
        4 * a.rows() * a.columns() * (std::min(a.rows(), a.columns()) + b.columns());
    std::vector<Eigen::Index> ranks(batch.first.size());
    for_each_matrix(batch.count(), cost, [&](std::int64_t i) {
      const auto place = static_cast<std::size_t>(i);
      const Solved solved = solve(a.copy(batch.first[place]), b.copy(batch.second[place]), least);
      answers->x.set(i, solved.x);
      ranks[place] = solved.rank;
    });
    for (std::size_t place = 0; place < ranks.size(); ++place) {
      answers->ranks[static_cast<std::size_t>(batch.first[place])] = ranks[place];
    }
    return {};
  }
};

}  // namespace

std::span<const ListedOperator> least_squares_operators() { return listed<LinalgLstsq>(); }

}  // namespace polystate
