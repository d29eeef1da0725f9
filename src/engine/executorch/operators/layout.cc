#include "engine/executorch/operators/layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "core/strides.h"
#include "core/vectorised.h"
#include "engine/executorch/operators/element_type.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {
namespace {

// Copies elements that lie at even distances.
template <std::size_t kBytes>
void copy_line_of(const CopyDimension& line, std::byte* to, const std::byte* from) {
  constexpr auto kStep = static_cast<std::int64_t>(kBytes);
  constexpr Block<kBytes> kCopy{};
  const std::int64_t size = line.size;
  if (line.to_stride == kStep && line.from_stride == -kStep) {
    for (std::int64_t i = 0; i < size; ++i) kCopy(to + i * kStep, from - i * kStep);
  } else if (line.to_stride == kStep && line.from_stride == 0) {
    for (std::int64_t i = 0; i < size; ++i) kCopy(to + i * kStep, from);
  } else {
    for (std::int64_t i = 0; i < size; ++i) {
      kCopy(to + i * line.to_stride, from + i * line.from_stride);
    }
  }
}

void copy_line_of_any(const CopyDimension& line, std::size_t block_bytes, std::byte* to,
                      const std::byte* from) {
  for (std::int64_t i = 0; i < line.size; ++i) {
    std::memcpy(to + i * line.to_stride, from + i * line.from_stride, block_bytes);
  }
}

void copy_line(const CopyDimension& line, std::size_t block_bytes, std::byte* to,
               const std::byte* from) {
  static const InstructionSet set = best_instruction_set();
  switch (block_bytes) {
    case 1:
      return vectorised<&copy_line_of<1>>(set)(line, to, from);
    case 2:
      return vectorised<&copy_line_of<2>>(set)(line, to, from);
    case 4:
      return vectorised<&copy_line_of<4>>(set)(line, to, from);
    case 8:
      return vectorised<&copy_line_of<8>>(set)(line, to, from);
    default:
      return copy_line_of_any(line, block_bytes, to, from);
  }
}

// Lines of at most so many blocks are copied across, all of their first blocks before the others.
constexpr std::int64_t kShort = 8;
// As many lines at a time as stay in a processor's cache meanwhile.
constexpr std::int64_t kLinesAtOnce = 512;

void copy_short_lines(const CopyDimension& lines, const CopyDimension& line,
                      std::size_t block_bytes, std::byte* to, const std::byte* from) {
  for (std::int64_t first = 0; first < lines.size; first += kLinesAtOnce) {
    CopyDimension some = lines;
    some.size = std::min(kLinesAtOnce, lines.size - first);
    for (std::int64_t i = 0; i < line.size; ++i) {
      copy_line(some, block_bytes, to + first * lines.to_stride + i * line.to_stride,
                from + first * lines.from_stride + i * line.from_stride);
    }
  }
}

// Lines that are copied across at a time: as many as lie side by side in a processor's nearest
// cache whatever the distance between them.
constexpr std::int64_t kLinesAcross = 8;

// Copies blocks of lines whose first blocks lie one after another where they come from.
template <std::size_t kBytes>
void copy_lines_across(const CopyDimension& line, std::int64_t to_stride, std::byte* to,
                       const std::byte* from) {
  constexpr auto kStep = static_cast<std::int64_t>(kBytes);
  constexpr Block<kBytes> kCopy{};
  for (std::int64_t i = 0; i < line.size; ++i) {
    for (std::int64_t k = 0; k < kLinesAcross; ++k) kCopy(to + k * to_stride, from + k * kStep);
    to += line.to_stride;
    from += line.from_stride;
  }
}

// `copy_lines_across` for blocks of `block_bytes`; null for a size that it is not compiled for.
auto loop_across(std::size_t block_bytes) -> decltype(&copy_lines_across<1>) {
  switch (block_bytes) {
    case 1:
      return &copy_lines_across<1>;
    case 2:
      return &copy_lines_across<2>;
    case 4:
      return &copy_lines_across<4>;
    case 8:
      return &copy_lines_across<8>;
    default:
      return nullptr;
  }
}

// Copies lines across, and those that are left one by one.
void transpose(const CopyDimension& lines, const CopyDimension& line, std::size_t block_bytes,
               std::byte* to, const std::byte* from) {
  const auto across = loop_across(block_bytes);
  std::int64_t i = 0;
  for (; across != nullptr && i + kLinesAcross <= lines.size; i += kLinesAcross) {
    across(line, lines.to_stride, to + i * lines.to_stride, from + i * lines.from_stride);
  }
  for (; i < lines.size; ++i) {
    copy_line(line, block_bytes, to + i * lines.to_stride, from + i * lines.from_stride);
  }
}

void copy_blocks(std::span<const CopyDimension> dimensions, std::size_t block_bytes, std::byte* to,
                 const std::byte* from) {
  if (dimensions.empty()) {
    std::memcpy(to, from, block_bytes);
    return;
  }
  const CopyDimension& outer = dimensions.front();
  if (dimensions.size() == 1) return copy_line(outer, block_bytes, to, from);
  if (dimensions.size() == 2 && dimensions[1].size <= kShort && outer.size > kShort) {
    return copy_short_lines(outer, dimensions[1], block_bytes, to, from);
  }
  if (dimensions.size() == 2 && outer.from_stride == static_cast<std::int64_t>(block_bytes)) {
    return transpose(outer, dimensions[1], block_bytes, to, from);
  }
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

bool is_row_major(const EtTensor& tensor) {
  for (std::size_t i = 0; i < tensor.dim_order().size(); ++i) {
    if (tensor.dim_order()[i] != i) return false;
  }
  return true;
}

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

std::vector<CopyDimension> merged(std::span<const CopyDimension> dimensions) {
  std::vector<CopyDimension> found;
  for (const CopyDimension& inner : dimensions) {
    if (inner.size == 1) continue;
    if (!found.empty() && found.back().to_stride == inner.size * inner.to_stride &&
        found.back().from_stride == inner.size * inner.from_stride) {
      found.back() = {found.back().size * inner.size, inner.to_stride, inner.from_stride};
    } else {
      found.push_back(inner);
    }
  }
  return found;
}

ElementsCopy::ElementsCopy(std::span<const CopyDimension> dimensions, std::size_t element_bytes)
    : dimensions_(merged(dimensions)), block_bytes_(element_bytes) {
  const auto bytes = static_cast<std::int64_t>(element_bytes);
  if (dimensions_.empty() || dimensions_.back().to_stride != bytes ||
      dimensions_.back().from_stride != bytes) {
    bring_dense_lines_together();
    return;
  }
  block_bytes_ *= static_cast<std::size_t>(dimensions_.back().size);
  dimensions_.pop_back();
}

void ElementsCopy::bring_dense_lines_together() {
  if (dimensions_.size() < 3) return;
  const auto bytes = static_cast<std::int64_t>(block_bytes_);
  const auto last = dimensions_.end() - 1;
  const auto dense = std::find_if(dimensions_.begin(), last, [bytes](const CopyDimension& each) {
    return each.from_stride == bytes;
  });
  if (dense != last) std::rotate(dense, dense + 1, last);
}

void ElementsCopy::operator()(std::byte* to, const std::byte* from) const {
  if (block_bytes_ > 0) copy_blocks(dimensions_, block_bytes_, to, from);
}

}  // namespace polystate
