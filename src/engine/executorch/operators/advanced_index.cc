#include "engine/executorch/operators/advanced_index.h"

#include <executorch/runtime/core/exec_aten/exec_aten.h>
#include <sys/types.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/strides.h"
#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

using executorch::aten::ScalarType;

// A mask over as many dimensions as it has selects, in each, the rows where it is true.
Status append_mask(const EtTensor& self, const EtTensor& mask, std::size_t dimension,
                   std::vector<DimensionIndex>& indices) {
  const Shape shape = sizes_of(mask);
  bool fits = mask.dim() > 0 && dimension + shape.size() <= static_cast<std::size_t>(self.dim());
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    fits = shape[i] == self.sizes()[dimension + i];
  }
  if (!fits) {
    return Error{ErrorCode::kEngine, "a mask of shape " + to_string(shape) + " at dimension " +
                                         std::to_string(dimension) + " of shape " +
                                         to_string(self)};
  }
  const std::size_t first = indices.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    indices.push_back({dimension + i, shape[i], {}, {}});
  }
  const Strides strides = row_major_strides(shape);
  const bool* const values = mask.const_data_ptr<bool>();
  const std::vector<std::int64_t> offsets = offsets_of(shape, byte_strides(mask));
  for (std::int64_t k = 0; k < mask.numel(); ++k) {
    for (std::size_t i = 0; values[offsets[k]] && i < shape.size(); ++i) {
      indices[first + i].kept.push_back(k / strides[i] % shape[i]);
    }
  }
  for (std::size_t i = first; i < indices.size(); ++i) {
    indices[i].shape = {static_cast<std::int64_t>(indices[i].kept.size())};
  }
  return {};
}

template <typename T>
Status append_rows(const EtTensor& self, const EtTensor& index, std::size_t dimension,
                   std::vector<DimensionIndex>& indices) {
  const std::int64_t size = self.size(static_cast<ssize_t>(dimension));
  DimensionIndex result{dimension, size, sizes_of(index), {}};
  const std::byte* const data = data_of(index);
  if (std::is_same_v<T, std::int64_t> && is_row_major(index)) {
    result.given = {reinterpret_cast<const std::int64_t*>(data),
                    static_cast<std::size_t>(index.numel())};
  } else {
    result.kept = offsets_of(result.shape, byte_strides(index));
    for (std::int64_t& row : result.kept) row = *reinterpret_cast<const T*>(data + row);
  }
  const auto is_outside = [size](std::int64_t row) { return row < -size || row >= size; };
  bool fails = false;  // of all, which is faster than to stop at the first
  for (const std::int64_t row : result.rows()) fails |= is_outside(row);
  if (fails) return resolve_index(*std::ranges::find_if(result.rows(), is_outside), size).error();
  indices.push_back(std::move(result));
  return {};
}

Status append_index(const EtTensor& self, const EtTensor& index, std::size_t dimension,
                    std::vector<DimensionIndex>& indices) {
  switch (index.scalar_type()) {
    case ScalarType::Bool:
      return append_mask(self, index, dimension, indices);
    case ScalarType::Int:
      return append_rows<std::int32_t>(self, index, dimension, indices);
    case ScalarType::Long:
      return append_rows<std::int64_t>(self, index, dimension, indices);
    default:
      return Error{ErrorCode::kEngine, "an index of type " + type_text(index.scalar_type())};
  }
}

}  // namespace

Result<std::vector<DimensionIndex>> resolve_indices(
    const EtTensor& self, const std::vector<std::optional<EtTensor>>& arguments) {
  std::vector<DimensionIndex> indices;
  std::size_t dimension = 0;
  for (const std::optional<EtTensor>& index : arguments) {
    if (dimension >= static_cast<std::size_t>(self.dim())) {
      return Error{ErrorCode::kEngine, "more indices than shape " + to_string(self) + " has"};
    }
    if (index.has_value()) {
      if (const Status status = append_index(self, *index, dimension, indices); !status) {
        return status.error();
      }
    }
    const bool mask = index.has_value() && index->scalar_type() == ScalarType::Bool;
    dimension += mask ? static_cast<std::size_t>(index->dim()) : 1;
  }
  return indices;
}

Shape broadcast_shape(const std::vector<DimensionIndex>& indices) {
  Shape shape;
  for (const DimensionIndex& index : indices) {
    if (index.shape.size() > shape.size()) {
      shape.insert(shape.begin(), index.shape.size() - shape.size(), 1);
    }
    for (std::size_t i = 1; i <= index.shape.size(); ++i) {
      std::int64_t& size = shape[shape.size() - i];
      size = size == 1 ? index.shape[index.shape.size() - i] : size;
    }
  }
  return shape;
}

}  // namespace polystate
