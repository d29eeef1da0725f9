#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/strides.h"
#include "core/wrapping.h"
#include "engine/executorch/operators/advanced_index.h"
#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/operators.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

// self[indices] = values, as NumPy and ATen define it: the index tensors are broadcast to one
// shape, which stands in the result where the indexed dimensions stood, or in front where those are
// not neighbours; the other dimensions are taken whole.
namespace polystate {
namespace {

using executorch::aten::ScalarType;

// The shape of the selected region: before x positions x after. `before` and `after` are dimensions
// of self, taken whole.
struct Selection {
  std::vector<std::size_t> before;
  Shape positions;  // the broadcast shape of the index tensors
  std::vector<std::size_t> after;
};

Selection select(const EtTensor& self, const std::vector<DimensionIndex>& indices,
                 Shape positions) {
  Selection selection{{}, std::move(positions), {}};
  const bool adjacent =
      !indices.empty() && indices.back().dimension - indices.front().dimension < indices.size();
  std::size_t next = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(self.dim()); ++i) {
    if (next < indices.size() && indices[next].dimension == i) {
      ++next;
    } else {
      (adjacent && next == 0 ? selection.before : selection.after).push_back(i);
    }
  }
  return selection;
}

// Both sides of the copy of a selection: offsets for what is before and at the positions, and the
// dimensions after them.
struct Transfer {
  std::vector<std::int64_t> to_before, from_before;
  std::vector<std::int64_t> to_positions, from_positions;
  std::vector<CopyDimension> after;
};

// Byte offsets into self of every position that the indices name.
Result<std::vector<std::int64_t>> position_offsets(const std::vector<DimensionIndex>& indices,
                                                   const Shape& positions, const Strides& self) {
  std::vector<std::int64_t> offsets(offsets_of(positions, row_major_strides(positions)).size(), 0);
  for (const DimensionIndex& index : indices) {
    const auto strides = broadcast_strides(index.shape, row_major_strides(index.shape), positions);
    if (!strides) {
      return Error{ErrorCode::kEngine, "an index of shape " + to_string(index.shape) +
                                           " does not go with others of shape " +
                                           to_string(positions)};
    }
    const std::vector<std::int64_t> rows = offsets_of(positions, *strides);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      offsets[k] += index.rows[static_cast<std::size_t>(rows[k])] * self[index.dimension];
    }
  }
  return offsets;
}

// The sizes of some of a tensor's dimensions.
Shape sizes_at(const EtTensor& tensor, const std::vector<std::size_t>& dimensions) {
  Shape sizes;
  sizes.reserve(dimensions.size());
  for (const std::size_t i : dimensions) {
    sizes.push_back(tensor.sizes()[i]);
  }
  return sizes;
}

Shape region_of(const EtTensor& self, const Selection& selection) {
  Shape region = sizes_at(self, selection.before);
  region.insert(region.end(), selection.positions.begin(), selection.positions.end());
  const Shape after = sizes_at(self, selection.after);
  region.insert(region.end(), after.begin(), after.end());
  return region;
}

Result<Transfer> plan(const EtTensor& self, const std::vector<DimensionIndex>& indices,
                      const Selection& selection, const EtTensor& values) {
  const Strides to = byte_strides(self);
  Result<std::vector<std::int64_t>> to_positions =
      position_offsets(indices, selection.positions, to);
  if (!to_positions) {
    return to_positions.error();
  }
  const Shape region = region_of(self, selection);
  const auto from = broadcast_strides(sizes_of(values), byte_strides(values), region);
  if (!from) {
    return Error{ErrorCode::kEngine, "values have shape " + to_string(values) +
                                         ", the indices select " + to_string(region)};
  }

  const auto positions_at = from->begin() + static_cast<std::ptrdiff_t>(selection.before.size());
  const auto after_at = positions_at + static_cast<std::ptrdiff_t>(selection.positions.size());
  Strides to_before;
  to_before.reserve(selection.before.size());
  for (const std::size_t i : selection.before) {
    to_before.push_back(to[i]);
  }
  const Shape before = sizes_at(self, selection.before);
  Transfer transfer;
  transfer.to_before = offsets_of(before, to_before);
  transfer.from_before = offsets_of(before, {from->begin(), positions_at});
  transfer.to_positions = std::move(*to_positions);
  transfer.from_positions = offsets_of(selection.positions, {positions_at, after_at});
  transfer.after.reserve(selection.after.size());
  for (std::size_t i = 0; i < selection.after.size(); ++i) {
    const std::size_t dimension = selection.after[i];
    transfer.after.push_back(
        {self.sizes()[dimension], to[dimension], after_at[static_cast<std::ptrdiff_t>(i)]});
  }
  return transfer;
}

template <typename T>
T sum(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else {
    return wrapping_sum(a, b);
  }
}

template <typename T>
void add_elements(std::span<const CopyDimension> dimensions, std::byte* to, const std::byte* from) {
  if (dimensions.empty()) {
    T& target = *reinterpret_cast<T*>(to);
    target = sum(target, *reinterpret_cast<const T*>(from));
    return;
  }
  const CopyDimension& outer = dimensions.front();
  for (std::int64_t i = 0; i < outer.size; ++i) {
    add_elements<T>(dimensions.subspan(1), to + i * outer.to_stride, from + i * outer.from_stride);
  }
}

using AddElements = void (*)(std::span<const CopyDimension>, std::byte*, const std::byte*);

// Null for a type that cannot be added.
AddElements adder(ScalarType type) {
  switch (type) {
    case ScalarType::Bool:
      return &add_elements<bool>;
    case ScalarType::Byte:
      return &add_elements<std::uint8_t>;
    case ScalarType::Char:
      return &add_elements<std::int8_t>;
    case ScalarType::Short:
      return &add_elements<std::int16_t>;
    case ScalarType::Int:
      return &add_elements<std::int32_t>;
    case ScalarType::Long:
      return &add_elements<std::int64_t>;
    case ScalarType::Half:
      return &add_elements<executorch::aten::Half>;
    case ScalarType::BFloat16:
      return &add_elements<executorch::aten::BFloat16>;
    case ScalarType::Float:
      return &add_elements<float>;
    case ScalarType::Double:
      return &add_elements<double>;
    default:
      return nullptr;
  }
}

template <typename Write>
void for_each_position(const Transfer& transfer, std::byte* to, const std::byte* from,
                       const Write& write) {
  for (std::size_t b = 0; b < transfer.to_before.size(); ++b) {
    for (std::size_t p = 0; p < transfer.to_positions.size(); ++p) {
      write(to + transfer.to_before[b] + transfer.to_positions[p],
            from + transfer.from_before[b] + transfer.from_positions[p]);
    }
  }
}

}  // namespace

Status IndexPut::run(ProgramArguments& arguments) {
  const EtTensor self = arguments.program_tensor(0);
  const std::vector<std::optional<EtTensor>> index_arguments =
      arguments.optional_program_tensors(1);
  const EtTensor values = arguments.program_tensor(2);
  const bool accumulate = arguments.boolean(3);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (Status same = require_same_dtype(self, values); !same) {
    return same;
  }
  const AddElements add = accumulate ? adder(self.scalar_type()) : nullptr;
  if (accumulate && add == nullptr) {
    return Error{ErrorCode::kEngine,
                 "cannot add elements of type " + type_text(self.scalar_type())};
  }
  const auto indices = resolve_indices(self, index_arguments);
  if (!indices) {
    return indices.error();
  }
  const Selection selection = select(self, *indices, broadcast_shape(*indices));
  const Result<Transfer> transfer = plan(self, *indices, selection, values);
  if (!transfer) {
    return transfer.error();
  }

  const auto element_bytes = static_cast<std::size_t>(self.element_size());
  for_each_position(*transfer, data_of(self), data_of(values),
                    [&](std::byte* to, const std::byte* from) {
                      if (accumulate) {
                        add(transfer->after, to, from);
                      } else {
                        copy_elements(transfer->after, element_bytes, to, from);
                      }
                    });
  return {};
}

}  // namespace polystate
