#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

namespace polystate {

// What one dimension of a tensor is indexed with.
struct DimensionIndex {
  std::size_t dimension;
  std::int64_t size;  // of the dimension
  Shape shape;        // of the rows
  std::vector<std::int64_t> kept;
  std::span<const std::int64_t> given = {};  // in the memory of an index that has them as they are

  // All of them in range; negative ones count from the end.
  [[nodiscard]] std::span<const std::int64_t> rows() const { return kept.empty() ? given : kept; }
};

// The index tensors of self[indices], in order of their dimensions: int32 or int64 rows, or bool
// masks, each of which becomes an index for every dimension that it covers. An argument that is
// absent takes its dimension whole.
Result<std::vector<DimensionIndex>> resolve_indices(
    const EtTensor& self, const std::vector<std::optional<EtTensor>>& arguments);

// The shape that all indices are broadcast to, if they go together.
Shape broadcast_shape(const std::vector<DimensionIndex>& indices);

}  // namespace polystate
