#include "engine/executorch/aten/matrices.h"

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/overlap.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

Status require_matrices(const TensorArgument& tensor, int dimensions, const char* name) {
  if (tensor.dtype() != DType::kFloat32 && tensor.dtype() != DType::kFloat64) {
    return Error{ErrorCode::kEngine, std::string(name) + " is of " +
                                         std::string(name_of(tensor.dtype())) +
                                         "; matrices are of float32 or float64"};
  }
  if (tensor.rank() < dimensions) {
    return Error{ErrorCode::kEngine,
                 std::string(name) + " has " + std::to_string(tensor.rank()) + " dimensions"};
  }
  return require_row_major(tensor, name);
}

// How far apart the matrices of a batch are along each dimension of what it is broadcast to.
std::vector<std::int64_t> steps(const std::vector<std::int64_t>& batch,
                                const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> steps(shape.size(), 0);
  std::int64_t step = 1;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::int64_t size = batch[batch.size() - 1 - i];
    if (size != 1) steps[shape.size() - 1 - i] = step;
    step *= size;
  }
  return steps;
}

std::vector<std::int64_t> indices(const std::vector<std::int64_t>& batch,
                                  const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> found{0};
  const std::vector<std::int64_t> distances = steps(batch, shape);
  for (std::size_t dimension = 0; dimension < shape.size(); ++dimension) {
    std::vector<std::int64_t> longer;
    longer.reserve(found.size() * static_cast<std::size_t>(shape[dimension]));
    for (const std::int64_t start : found) {
      for (std::int64_t i = 0; i < shape[dimension]; ++i) {
        longer.push_back(start + i * distances[dimension]);
      }
    }
    found = std::move(longer);
  }
  return found;
}

}  // namespace

Matrices::Matrices(const TensorArgument& tensor, std::size_t dimensions)
    : data_(tensor.bytes()), dtype_(tensor.dtype()) {
  const std::span<const std::int64_t> shape = tensor.shape();
  batch_.assign(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(dimensions));
  rows_ = shape[batch_.size()];
  if (dimensions == 2) columns_ = shape.back();
  std::uint64_t count = 1;
  for (const std::int64_t size : batch_) count *= static_cast<std::uint64_t>(size);
  count_ = static_cast<std::int64_t>(count);
}

Result<Matrices> Matrices::of(const TensorArgument& tensor, const char* name) {
  if (const Status right = require_matrices(tensor, 2, name); !right) return right.error();
  return Matrices(tensor, 2);
}

Result<Matrices> Matrices::of_vectors(const TensorArgument& tensor, const char* name) {
  if (const Status right = require_matrices(tensor, 1, name); !right) return right.error();
  return Matrices(tensor, 1);
}

std::vector<std::int64_t> Matrices::shape_with(std::initializer_list<std::int64_t> sizes) const {
  std::vector<std::int64_t> shape = batch_;
  shape.insert(shape.end(), sizes);
  return shape;
}

Matrix<double> Matrices::copy(std::int64_t index) const {
  return with_matrix_type(
      dtype_, [&]<typename T>() -> Matrix<double> { return at<T>(index).template cast<double>(); });
}

bool Matrices::has_nan() const {
  for (std::int64_t i = 0; !is_empty() && i < count_; ++i) {
    if (copy(i).hasNaN()) return true;
  }
  return false;
}

void Matrices::set(std::int64_t index, const Eigen::Ref<const Matrix<double>>& values) const {
  with_matrix_type(dtype_, [&]<typename T>() { at<T>(index) = values.template cast<T>(); });
}

bool is_of_vectors(const TensorArgument& a, const TensorArgument& b) {
  return a.rank() == b.rank() + 1 &&
         std::ranges::equal(a.shape().first(a.shape().size() - 1), b.shape());
}

Status require_same_type(const Matrices& a, const Matrices& b) {
  if (a.dtype() == b.dtype()) return {};
  return Error{ErrorCode::kEngine, "matrices of " + std::string(name_of(a.dtype())) + " and of " +
                                       std::string(name_of(b.dtype()))};
}

Status require_square(const Matrices& matrices, const char* name) {
  if (matrices.rows() == matrices.columns()) return {};
  return Error{ErrorCode::kEngine,
               std::string(name) + " has matrices of " + std::to_string(matrices.rows()) + " x " +
                   std::to_string(matrices.columns()) + ", which must be square"};
}

std::vector<std::int64_t> BroadcastBatch::shape_with(std::int64_t rows,
                                                     std::int64_t columns) const {
  std::vector<std::int64_t> whole = shape;
  whole.push_back(rows);
  whole.push_back(columns);
  return whole;
}

Status require_apart(const TensorArgument& pivots, std::initializer_list<TensorArgument> results) {
  for (const TensorArgument& each : results) {
    if (overlap(pivots, each)) return Error{ErrorCode::kEngine, "a result lies where pivots do"};
  }
  return {};
}

Status require_factors(std::span<const std::int32_t> infos) {
  const auto failed = std::ranges::find_if(infos, [](std::int32_t info) { return info != 0; });
  if (failed == infos.end()) return {};
  return Error{ErrorCode::kEngine, "matrix " + std::to_string(failed - infos.begin()) +
                                       " has no such factors: element " + std::to_string(*failed) +
                                       " of the diagonal, counted from 1, is zero or not positive"};
}

Result<BroadcastBatch> broadcast(const Matrices& first, const Matrices& second) {
  const std::vector<std::int64_t>& a = first.batch();
  const std::vector<std::int64_t>& b = second.batch();
  BroadcastBatch result;
  result.shape.resize(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < result.shape.size(); ++i) {
    const std::int64_t m = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t n = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (m != n && m != 1 && n != 1) {
      return Error{ErrorCode::kEngine,
                   "batches of shapes " + to_string(a) + " and " + to_string(b)};
    }
    result.shape[result.shape.size() - 1 - i] = m == 1 ? n : m;
  }
  if (first.is_empty() || second.is_empty()) return result;  // so is what comes of them
  result.first = indices(a, result.shape);
  result.second = indices(b, result.shape);
  return result;
}

}  // namespace polystate
