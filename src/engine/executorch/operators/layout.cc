#include "engine/executorch/operators/layout.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/strides.h"
#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

void copy_blocks(std::span<const CopyDimension> dimensions, std::size_t block_bytes, std::byte* to,
                 const std::byte* from) {
  if (dimensions.empty()) {
    std::memcpy(to, from, block_bytes);
    return;
  }
  const CopyDimension& outer = dimensions.front();
  for (std::int64_t i = 0; i < outer.size; ++i) {
    copy_blocks(dimensions.subspan(1), block_bytes, to + i * outer.to_stride,
                from + i * outer.from_stride);
  }
}

// As resolve_dimension, of a tensor of `rank` dimensions; nothing where it has no such one.
std::optional<std::size_t> index_of_dimension(std::int64_t rank, std::int64_t dimension) {
  if (rank == 0) rank = 1;
  if (dimension < -rank || dimension >= rank) return std::nullopt;
  return static_cast<std::size_t>(dimension < 0 ? dimension + rank : dimension);
}

Error no_dimension(std::int64_t dimension, const std::string& shape) {
  return {ErrorCode::kEngine,
          "dimension " + std::to_string(dimension) + " of a tensor of shape " + shape};
}

}  // namespace

Shape sizes_of(const EtTensor& tensor) { return {tensor.sizes().begin(), tensor.sizes().end()}; }

Strides byte_strides(const EtTensor& tensor) {
  // Not tensor.strides(), which counts in 32 bits.
  Strides strides(static_cast<std::size_t>(tensor.dim()));
  std::int64_t stride = tensor.element_size();
  for (std::size_t i = strides.size(); i-- > 0;) {
    const std::size_t dimension = tensor.dim_order()[i];
    strides[dimension] = stride;
    stride *= tensor.sizes()[dimension];
  }
  return strides;
}

std::optional<Strides> broadcast_strides(const Shape& from, const Strides& strides,
                                         const Shape& to) {
  if (from.size() > to.size()) {
    return {};
  }
  Strides result(to.size(), 0);
  const std::size_t leading = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[leading + i] && from[i] != 1) {
      return {};
    }
    result[leading + i] = from[i] == 1 ? 0 : strides[i];
  }
  return result;
}

std::vector<std::int64_t> offsets_of(const Shape& shape, const Strides& strides) {
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::vector<std::int64_t> next;
    next.reserve(offsets.size() * static_cast<std::size_t>(shape[i]));
    for (const std::int64_t offset : offsets) {
      for (std::int64_t k = 0; k < shape[i]; ++k) {
        next.push_back(offset + k * strides[i]);
      }
    }
    offsets = std::move(next);
  }
  return offsets;
}

std::string to_string(const EtTensor& tensor) {
  return to_string(std::span<const std::int64_t>(sizes_of(tensor)));
}

std::byte* data_of(const EtTensor& tensor) {
  return static_cast<std::byte*>(tensor.mutable_data_ptr());
}

Result<std::size_t> resolve_dimension(std::span<const std::int64_t> shape, std::int64_t dimension) {
  const auto index = index_of_dimension(std::ssize(shape), dimension);
  if (!index) return no_dimension(dimension, to_string(shape));
  return *index;
}

Result<std::size_t> resolve_dimension(const EtTensor& tensor, std::int64_t dimension) {
  const auto index = index_of_dimension(tensor.dim(), dimension);
  if (!index) return no_dimension(dimension, to_string(tensor));
  return *index;
}

Result<std::int64_t> resolve_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) {
    return Error{ErrorCode::kEngine, "index " + std::to_string(index) + " of a dimension of " +
                                         std::to_string(size) + " elements"};
  }
  return index < 0 ? index + size : index;
}

Status require_same_dtype(const EtTensor& self, const EtTensor& source) {
  if (self.scalar_type() != source.scalar_type()) {
    return Error{ErrorCode::kEngine, "elements of type " + type_text(source.scalar_type()) +
                                         " cannot be written into " +
                                         type_text(self.scalar_type())};
  }
  return {};
}

void copy_elements(std::span<const CopyDimension> dimensions, std::size_t element_bytes,
                   std::byte* to, const std::byte* from) {
  // The innermost dimensions that are dense on both sides are one block.
  auto block_bytes = static_cast<std::int64_t>(element_bytes);
  while (!dimensions.empty() &&
         (dimensions.back().size == 1 || (dimensions.back().to_stride == block_bytes &&
                                          dimensions.back().from_stride == block_bytes))) {
    block_bytes *= dimensions.back().size;
    dimensions = dimensions.first(dimensions.size() - 1);
  }
  if (block_bytes > 0) {
    copy_blocks(dimensions, static_cast<std::size_t>(block_bytes), to, from);
  }
}

}  // namespace polystate
