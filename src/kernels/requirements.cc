#include "kernels/requirements.h"

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <executorch/runtime/core/exec_aten/util/tensor_util.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/arguments.h"
#include "kernels/element_type.h"
#include "kernels/layout.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

using executorch::aten::ScalarType;

bool is_row_major(const EtTensor& tensor) {
  for (std::size_t i = 0; i < tensor.dim_order().size(); ++i) {
    if (tensor.dim_order()[i] != i) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::span<const std::int64_t> integers_of(const EtTensor& tensor) {
  return {tensor.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(tensor.numel())};
}

void Requirements::fail(std::string message) {
  status_ = Error{ErrorCode::kEngine, std::move(message)};
}

void Requirements::of_type(const NamedTensor& argument, ScalarType type, int rank) {
  if (!status_) {
    return;
  }
  const EtTensor& tensor = argument.tensor;
  if (tensor.scalar_type() != type || tensor.dim() != rank || !is_row_major(tensor)) {
    fail(std::string(argument.name) + " is " + type_text(tensor.scalar_type()) + " of shape " +
         to_string(tensor) + (is_row_major(tensor) ? "" : ", not row-major") + "; it must be " +
         type_text(type) + " of " + std::to_string(rank) + " dimensions");
  }
}

void Requirements::floats(const NamedTensor& argument, int rank) {
  of_type(argument, ScalarType::Float, rank);
}

void Requirements::integers(const NamedTensor& argument, int rank) {
  of_type(argument, ScalarType::Long, rank);
}

void Requirements::small_integers(const NamedTensor& argument, int rank) {
  of_type(argument, ScalarType::Int, rank);
}

void Requirements::bytes(const NamedTensor& argument, int rank) {
  of_type(argument, ScalarType::Char, rank);
}

void Requirements::shape(const NamedTensor& argument, const std::vector<std::int64_t>& expected) {
  if (!status_) {
    return;
  }
  bool fits = argument.tensor.dim() == static_cast<std::int64_t>(expected.size());
  for (std::size_t i = 0; fits && i < expected.size(); ++i) {
    fits = expected[i] < 0 || argument.tensor.sizes()[i] == expected[i];
  }
  if (!fits) {
    std::string sizes;
    for (const std::int64_t size : expected) {
      sizes += (sizes.empty() ? "" : ", ") + (size < 0 ? "any" : std::to_string(size));
    }
    fail(std::string(argument.name) + " has shape " + to_string(argument.tensor) +
         "; it must be [" + sizes + "]");
  }
}

void Requirements::between(const NamedTensor& argument, std::int64_t low, std::int64_t high) {
  if (!status_) {
    return;
  }
  for (const std::int64_t value : integers_of(argument.tensor)) {
    if (value < low || value > high) {
      fail(std::string(argument.name) + " has " + std::to_string(value) +
           ", which is not between " + std::to_string(low) + " and " + std::to_string(high));
      return;
    }
  }
}

void Requirements::holds(bool condition, const std::string& otherwise) {
  if (status_ && !condition) {
    fail(otherwise);
  }
}

void Requirements::resize(EtTensor out, const std::vector<std::int64_t>& shape) {
  if (!status_) {
    return;
  }
  std::vector<executorch::aten::SizesType> sizes;
  for (const std::int64_t size : shape) {
    holds(size <= std::numeric_limits<executorch::aten::SizesType>::max(), "a result is too large");
    sizes.push_back(static_cast<executorch::aten::SizesType>(size));
  }
  if (status_ && executorch::ET_RUNTIME_NAMESPACE::resize_tensor(
                     out, {sizes.data(), sizes.size()}) != executorch::runtime::Error::Ok) {
    fail("out (" + to_string(out) + ") cannot take a result of shape " +
         to_string(std::span<const std::int64_t>(shape)));
  }
}

}  // namespace polystate
