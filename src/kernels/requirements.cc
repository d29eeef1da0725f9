#include "kernels/requirements.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {

std::span<const std::int64_t> integers_of(const TensorArgument& tensor) {
  return {tensor.data<std::int64_t>(), static_cast<std::size_t>(tensor.element_count())};
}

void Requirements::fail(std::string message) {
  status_ = Error{ErrorCode::kEngine, std::move(message)};
}

void Requirements::of_type(const NamedTensor& argument, DType type, int rank) {
  if (!status_) return;
  const TensorArgument& tensor = argument.tensor;
  if (tensor.dtype() != type || tensor.rank() != rank || !tensor.is_row_major()) {
    fail(std::string(argument.name) + " is " + std::string(name_of(tensor.dtype())) + " of shape " +
         to_string(tensor.shape()) + (tensor.is_row_major() ? "" : ", not row-major") +
         "; it must be " + std::string(name_of(type)) + " of " + std::to_string(rank) +
         " dimensions");
  }
}

void Requirements::floats(const NamedTensor& argument, int rank) {
  of_type(argument, DType::kFloat32, rank);
}

void Requirements::halves(const NamedTensor& argument, int rank) {
  of_type(argument, DType::kFloat16, rank);
}

void Requirements::integers(const NamedTensor& argument, int rank) {
  of_type(argument, DType::kInt64, rank);
}

void Requirements::small_integers(const NamedTensor& argument, int rank) {
  of_type(argument, DType::kInt32, rank);
}

void Requirements::bytes(const NamedTensor& argument, int rank) {
  of_type(argument, DType::kInt8, rank);
}

void Requirements::shape(const NamedTensor& argument, const std::vector<std::int64_t>& expected) {
  if (!status_) return;
  const std::span<const std::int64_t> found = argument.tensor.shape();
  bool fits = found.size() == expected.size();
  for (std::size_t i = 0; fits && i < expected.size(); ++i) {
    fits = expected[i] < 0 || found[i] == expected[i];
  }
  if (!fits) {
    std::string sizes;
    for (const std::int64_t size : expected) {
      sizes += (sizes.empty() ? "" : ", ") + (size < 0 ? "any" : std::to_string(size));
    }
    fail(std::string(argument.name) + " has shape " + to_string(found) + "; it must be [" + sizes +
         "]");
  }
}

void Requirements::between(const NamedTensor& argument, std::int64_t low, std::int64_t high) {
  if (!status_) return;
  for (const std::int64_t value : integers_of(argument.tensor)) {
    if (value < low || value > high) {
      fail(std::string(argument.name) + " has " + std::to_string(value) +
           ", which is not between " + std::to_string(low) + " and " + std::to_string(high));
      return;
    }
  }
}

void Requirements::indices(const NamedTensor& argument, std::int64_t count) {
  if (status_) between(argument, 0, count - 1);
}

void Requirements::holds(bool condition, const std::string& otherwise) {
  if (status_ && !condition) {
    fail(otherwise);
  }
}

TensorArgument Requirements::result(DType dtype, std::span<const std::int64_t> shape) {
  if (!status_) return {};
  Result<TensorArgument> made = arguments_.result(dtype, shape);
  if (!made) {
    status_ = made.error();
    return {};
  }
  return *made;
}

}  // namespace polystate
