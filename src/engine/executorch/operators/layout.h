#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/strides.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"

namespace polystate {

Shape sizes_of(const EtTensor& tensor);

// Distances in bytes between neighbours along each dimension, for any order of dimensions in
// memory.
Strides byte_strides(const EtTensor& tensor);

// Strides that read an array of shape `from` as if it had shape `to`, or nothing where it cannot be
// broadcast so.
std::optional<Strides> broadcast_strides(const Shape& from, const Strides& strides,
                                         const Shape& to);

// Offsets of all elements of an array, the last dimension running fastest.
std::vector<std::int64_t> offsets_of(const Shape& shape, const Strides& strides);

// The tensor's shape: "[2, 3]".
std::string to_string(const EtTensor& tensor);

std::byte* data_of(const EtTensor& tensor);

// `dimension`, which counts from the end when negative, as an index; a tensor of no dimensions
// counts as one of one element.
Result<std::size_t> resolve_dimension(std::span<const std::int64_t> shape, std::int64_t dimension);
Result<std::size_t> resolve_dimension(const EtTensor& tensor, std::int64_t dimension);

// `index` into a dimension of `size` elements, from the end when negative.
Result<std::int64_t> resolve_index(std::int64_t index, std::int64_t size);

Status require_same_dtype(const EtTensor& self, const EtTensor& source);

// One dimension of a copy: its size, and the bytes between its neighbours on either side.
struct CopyDimension {
  std::int64_t size;
  std::int64_t to_stride;
  std::int64_t from_stride;
};

// Copies an array of elements, the outermost dimension first; the two sides do not overlap.
void copy_elements(std::span<const CopyDimension> dimensions, std::size_t element_bytes,
                   std::byte* to, const std::byte* from);

}  // namespace polystate
