#include "engine/executorch/operators/selection.h"

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
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

using executorch::aten::ScalarType;

// How an index is read as if it had the shape of all; nothing where it does not go with the others.
std::optional<Strides> strides_in(const Shape& positions, const DimensionIndex& index) {
  return broadcast_strides(index.shape, row_major_strides(index.shape), positions);
}

// The distance of elements of an array that are as far from one another; nothing where they are
// not.
std::optional<std::int64_t> even_step(const Shape& shape, std::span<const std::int64_t> strides) {
  std::optional<std::int64_t> step;
  std::int64_t covered = 0;  // what the dimensions inside cover
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (step && strides[i] != covered) return std::nullopt;
    if (!step) step = strides[i];
    covered = strides[i] * shape[i];
  }
  return step.value_or(0);
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
void add_line(const CopyDimension& line, std::byte* to, const std::byte* from) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(T));
  if (line.to_stride == kBytes && line.from_stride == kBytes) {
    T* const targets = reinterpret_cast<T*>(to);
    const T* const values = reinterpret_cast<const T*>(from);
    for (std::int64_t i = 0; i < line.size; ++i) targets[i] = sum(targets[i], values[i]);
    return;
  }
  for (std::int64_t i = 0; i < line.size; ++i) {
    T& target = *reinterpret_cast<T*>(to + i * line.to_stride);
    target = sum(target, *reinterpret_cast<const T*>(from + i * line.from_stride));
  }
}

template <typename T>
void add_elements(std::span<const CopyDimension> dimensions, std::byte* to, const std::byte* from) {
  if (dimensions.size() == 1) return add_line<T>(dimensions.front(), to, from);
  const CopyDimension& outer = dimensions.front();
  for (std::int64_t i = 0; i < outer.size; ++i) {
    add_elements<T>(dimensions.subspan(1), to + i * outer.to_stride, from + i * outer.from_stride);
  }
}

}  // namespace

Result<Selection> Selection::create(const EtTensor& self,
                                    const std::vector<std::optional<EtTensor>>& indices) {
  Result<std::vector<DimensionIndex>> resolved = resolve_indices(self, indices);
  if (!resolved) return resolved.error();
  Selection selection;
  selection.indices_ = std::move(*resolved);
  selection.self_strides_ = byte_strides(self);
  selection.positions_ = broadcast_shape(selection.indices_);
  const std::vector<DimensionIndex>& found = selection.indices_;
  for (const DimensionIndex& index : found) {
    if (!strides_in(selection.positions_, index)) {
      return Error{ErrorCode::kEngine, "an index of shape " + to_string(index.shape) +
                                           " does not go with others of shape " +
                                           to_string(selection.positions_)};
    }
  }
  const bool adjacent =
      !found.empty() && found.back().dimension - found.front().dimension < found.size();
  std::size_t next = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(self.dim()); ++i) {
    if (next < found.size() && found[next].dimension == i) {
      ++next;
    } else {
      (adjacent && next == 0 ? selection.before_dimensions_ : selection.after_dimensions_)
          .push_back(i);
    }
  }
  Shape& shape = selection.shape_;
  for (const std::size_t i : selection.before_dimensions_) shape.push_back(self.sizes()[i]);
  shape.insert(shape.end(), selection.positions_.begin(), selection.positions_.end());
  for (const std::size_t i : selection.after_dimensions_) shape.push_back(self.sizes()[i]);
  return selection;
}

// Byte offsets into self of every position that the indices name.
void Selection::find_positions() {
  self_positions_.clear();
  if (indices_.empty()) self_positions_.push_back(0);
  for (const DimensionIndex& index : indices_) {
    const std::span<const std::int64_t> rows = index.rows();
    const std::int64_t stride = self_strides_[index.dimension];
    const auto offset = [&](std::int64_t row) {
      return (row < 0 ? row + index.size : row) * stride;
    };
    if (index.shape != positions_) {
      // There are strides: `create` refuses an index that has none.
      const std::vector<std::int64_t> places =
          offsets_of(positions_, strides_in(positions_, index).value_or(Strides()));
      self_positions_.resize(places.size());
      for (std::size_t k = 0; k < places.size(); ++k) {
        self_positions_[k] += offset(rows[static_cast<std::size_t>(places[k])]);
      }
    } else if (self_positions_.empty()) {
      self_positions_.assign(rows.begin(), rows.end());
      for (std::int64_t& position : self_positions_) position = offset(position);
    } else {
      for (std::size_t k = 0; k < rows.size(); ++k) self_positions_[k] += offset(rows[k]);
    }
  }
}

Status Selection::pair_with(const EtTensor& other) {
  const auto strides = broadcast_strides(sizes_of(other), byte_strides(other), shape_);
  if (!strides) {
    return Error{ErrorCode::kEngine, "values have shape " + to_string(other) +
                                         ", the indices select " + to_string(shape_)};
  }
  find_positions();
  const std::size_t first = before_dimensions_.size();
  const std::size_t last = first + positions_.size();
  const auto part = [&strides](std::size_t from, std::size_t to) {
    return Strides(strides->begin() + static_cast<std::ptrdiff_t>(from),
                   strides->begin() + static_cast<std::ptrdiff_t>(to));
  };
  const Shape before(shape_.begin(), shape_.begin() + static_cast<std::ptrdiff_t>(first));
  Strides of_self;
  for (const std::size_t i : before_dimensions_) of_self.push_back(self_strides_[i]);
  self_before_ = offsets_of(before, of_self);
  other_before_ = offsets_of(before, part(0, first));
  const Strides of_positions = part(first, last);
  other_step_ = even_step(positions_, of_positions);
  if (!other_step_) other_positions_ = offsets_of(positions_, of_positions);
  after_.clear();
  for (std::size_t i = 0; i < after_dimensions_.size(); ++i) {
    after_.push_back({shape_[last + i], self_strides_[after_dimensions_[i]], (*strides)[last + i]});
  }
  return {};
}

std::vector<CopyDimension> Selection::after(bool reads) const {
  std::vector<CopyDimension> dimensions;
  dimensions.reserve(after_.size());
  for (const Whole& each : after_) {
    dimensions.push_back(reads ? CopyDimension{each.size, each.other, each.self}
                               : CopyDimension{each.size, each.self, each.other});
  }
  return dimensions;
}

template <typename Move>
void Selection::for_each_of(std::int64_t self, std::int64_t other, const Move& move) const {
  const std::size_t count = self_positions_.size();
  if (other_step_) {
    for (std::size_t p = 0; p < count; ++p, other += *other_step_) {
      move(self + self_positions_[p], other);
    }
  } else {
    for (std::size_t p = 0; p < count; ++p) {
      move(self + self_positions_[p], other + other_positions_[p]);
    }
  }
}

// Calls `move(self, other)` with the offsets of what lies behind each position.
template <typename Move>
void Selection::for_each_position(const Move& move) const {
  for (std::size_t b = 0; b < self_before_.size(); ++b) {
    for_each_of(self_before_[b], other_before_[b], move);
  }
}

void Selection::read(const EtTensor& self, const EtTensor& other) const {
  const ElementsCopy copy(after(true), static_cast<std::size_t>(self.element_size()));
  std::byte* const to = data_of(other);
  const std::byte* const from = data_of(self);
  copy.with_block([&](const auto& move) {
    for_each_position([&](std::int64_t at, std::int64_t of) { move(to + of, from + at); });
  });
}

void Selection::write(const EtTensor& self, const EtTensor& other) const {
  const ElementsCopy copy(after(false), static_cast<std::size_t>(self.element_size()));
  std::byte* const to = data_of(self);
  const std::byte* const from = data_of(other);
  copy.with_block([&](const auto& move) {
    for_each_position([&](std::int64_t at, std::int64_t of) { move(to + at, from + of); });
  });
}

template <typename T>
void Selection::add_as(std::byte* to, const std::byte* from) const {
  const std::vector<CopyDimension> dimensions = merged(after(false));
  for_each_position([&](std::int64_t at, std::int64_t of) {
    if (dimensions.empty()) {
      T& target = *reinterpret_cast<T*>(to + at);
      target = sum(target, *reinterpret_cast<const T*>(from + of));
    } else {
      add_elements<T>(dimensions, to + at, from + of);
    }
  });
}

Status Selection::add(const EtTensor& self, const EtTensor& other) const {
  std::byte* const to = data_of(self);
  const std::byte* const from = data_of(other);
  switch (self.scalar_type()) {
    case ScalarType::Bool:
      add_as<bool>(to, from);
      break;
    case ScalarType::Byte:
      add_as<std::uint8_t>(to, from);
      break;
    case ScalarType::Char:
      add_as<std::int8_t>(to, from);
      break;
    case ScalarType::Short:
      add_as<std::int16_t>(to, from);
      break;
    case ScalarType::Int:
      add_as<std::int32_t>(to, from);
      break;
    case ScalarType::Long:
      add_as<std::int64_t>(to, from);
      break;
    case ScalarType::Half:
      add_as<executorch::aten::Half>(to, from);
      break;
    case ScalarType::BFloat16:
      add_as<executorch::aten::BFloat16>(to, from);
      break;
    case ScalarType::Float:
      add_as<float>(to, from);
      break;
    case ScalarType::Double:
      add_as<double>(to, from);
      break;
    default:
      return Error{ErrorCode::kEngine,
                   "cannot add elements of type " + type_text(self.scalar_type())};
  }
  return {};
}

}  // namespace polystate
