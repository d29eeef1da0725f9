#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using MatrixView = Eigen::Map<Matrix<T>>;
using DoubleVector = Eigen::VectorXd;

// Up to this size loops over rows are faster than what divides matrices into blocks.
inline constexpr std::int64_t kSmallMatrix = 32;

// Calls `work.operator()<T>()` with float or double, which matrices are of.
template <typename Work>
auto with_matrix_type(DType dtype, const Work& work) {
  return dtype == DType::kFloat32 ? work.template operator()<float>()
                                  : work.template operator()<double>();
}

// A tensor [..., rows, columns]: matrices that lie one after another.
class Matrices {
 public:
  // kEngine where it is no row-major tensor of two dimensions or more, of float32 or float64.
  static Result<Matrices> of(const TensorArgument& tensor, const char* name);
  // The same, of vectors [..., size], each of which is a matrix of one column.
  static Result<Matrices> of_vectors(const TensorArgument& tensor, const char* name);

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t columns() const { return columns_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] bool is_empty() const { return rows_ == 0 || columns_ == 0 || count_ == 0; }
  // The dimensions before the matrices'.
  [[nodiscard]] const std::vector<std::int64_t>& batch() const { return batch_; }
  // The batch, and dimensions of what belongs to each matrix.
  [[nodiscard]] std::vector<std::int64_t> shape_with(
      std::initializer_list<std::int64_t> sizes) const;

  // T is the elements' type.
  template <typename T>
  [[nodiscard]] MatrixView<T> at(std::int64_t index) const {
    return {static_cast<T*>(data_) + index * rows_ * columns_, rows_, columns_};
  }
  // In double precision.
  [[nodiscard]] Matrix<double> copy(std::int64_t index) const;
  [[nodiscard]] bool has_nan() const;
  void set(std::int64_t index, const Eigen::Ref<const Matrix<double>>& values) const;

 private:
  Matrices(const TensorArgument& tensor, std::size_t dimensions);

  void* data_;
  std::vector<std::int64_t> batch_;
  std::int64_t rows_ = 1;
  std::int64_t columns_ = 1;
  std::int64_t count_ = 1;
  DType dtype_;
};

// Whether B is of vectors [..., m], each of which is a right-hand side, for A [..., m, n].
bool is_of_vectors(const TensorArgument& a, const TensorArgument& b);

// kEngine where they are of two types.
Status require_same_type(const Matrices& a, const Matrices& b);
Status require_square(const Matrices& matrices, const char* name);
// kEngine where a result lies where pivots do, which are read after some of it was written.
Status require_apart(const TensorArgument& pivots, std::initializer_list<TensorArgument> results);
// kEngine with the first matrix that could not be factored, whose `infos` is not 0.
Status require_factors(std::span<const std::int32_t> infos);

// Which matrix of each of two batches belongs to each of those that they are broadcast to.
struct BroadcastBatch {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> second;

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(first.size()); }
  [[nodiscard]] std::vector<std::int64_t> shape_with(std::int64_t rows, std::int64_t columns) const;
};

// kEngine where the sizes of a dimension differ and none is 1.
Result<BroadcastBatch> broadcast(const Matrices& first, const Matrices& second);

// Calls `work(index)` for each matrix of a batch, on several threads where that is worth it.
// `operations` is about how many one takes.
template <typename Work>
void for_each_matrix(std::int64_t count, std::int64_t operations, const Work& work) {
  constexpr std::int64_t kOperationsWorthAThread = 65'536;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kOperationsWorthAThread / std::max<std::int64_t>(1, operations));
  parallel_for(count, grain, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) work(i);
  });
}

}  // namespace polystate
