#pragma once

#include <Eigen/Core>

#include "engine/executorch/aten/matrices.h"

// Reflections I - s v v^T, whose product Q gives A = Q R. They are kept as LAPACK does, packed with
// R: v below the diagonal, where its first element, 1, is left out, and the scales s apart.
namespace polystate {

using Columns = Eigen::MatrixXd;  // which lie one after another, as reflections use them

// Applies reflection `i` of `packed` to `rows`, of which it changes those from `i` on.
void apply_reflection(const Columns& packed, double scale, Eigen::Index i,
                      Eigen::Ref<Columns> rows);

// Makes column `i` of `a`, in place, that of R and the vector of a reflection, which is applied to
// the columns behind it. Returns its scale.
double reflect_column(Columns& a, Eigen::Index i);

// All columns. Returns the scales.
DoubleVector reflect(Columns& a);

// Q X, or Q^T X, in place of X, where Q is the product of all reflections.
void multiply_by_q(const Columns& packed, const DoubleVector& scales, bool is_transposed,
                   Columns& x);

}  // namespace polystate
