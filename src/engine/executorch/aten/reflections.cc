#include "engine/executorch/aten/reflections.h"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "engine/executorch/aten/matrices.h"

namespace polystate {

void apply_reflection(const Columns& packed, double scale, Eigen::Index i,
                      Eigen::Ref<Columns> rows) {
  const Eigen::Index below = packed.rows() - i - 1;
  const auto tail = packed.col(i).tail(below);
  for (Eigen::Index j = 0; j < rows.cols(); ++j) {
    auto column = rows.col(j);
    const double along = scale * (column(i) + tail.dot(column.tail(below)));
    column(i) -= along;
    column.tail(below) -= along * tail;
  }
}

double reflect_column(Columns& a, Eigen::Index i) {
  auto tail = a.col(i).tail(a.rows() - i - 1);
  const double rest = tail.size() == 0 ? 0.0 : tail.stableNorm();
  if (rest == 0.0) return 0.0;
  const double first = a(i, i);
  const double length = first < 0.0 ? std::hypot(first, rest) : -std::hypot(first, rest);
  const double scale = (length - first) / length;
  tail /= first - length;
  a(i, i) = length;
  apply_reflection(a, scale, i, a.rightCols(a.cols() - i - 1));
  return scale;
}

DoubleVector reflect(Columns& a) {
  DoubleVector scales(std::min(a.rows(), a.cols()));
  for (Eigen::Index i = 0; i < scales.size(); ++i) scales(i) = reflect_column(a, i);
  return scales;
}

void multiply_by_q(const Columns& packed, const DoubleVector& scales, bool is_transposed,
                   Columns& x) {
  const Eigen::Index count = scales.size();
  for (Eigen::Index step = 0; step < count; ++step) {
    const Eigen::Index i = is_transposed ? step : count - 1 - step;
    apply_reflection(packed, scales(i), i, x);
  }
}

}  // namespace polystate
