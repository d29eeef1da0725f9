#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
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

// Whether the elements lie one after another, the last dimension running fastest.
bool is_row_major(const EtTensor& tensor);

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

// Without dimensions of size 1, and neighbours as one where they lie so on both sides.
std::vector<CopyDimension> merged(std::span<const CopyDimension> dimensions);

// So many bytes, of which the compiler knows how many they are.
template <std::size_t kBytes>
struct Block {
  void operator()(std::byte* to, const std::byte* from) const { std::memcpy(to, from, kBytes); }
};

// Copies an array of elements from one place to another, the outermost dimension first; the two
// sides do not overlap.
class ElementsCopy {
 public:
  ElementsCopy(std::span<const CopyDimension> dimensions, std::size_t element_bytes);

  void operator()(std::byte* to, const std::byte* from) const;

  // Calls `work(copy)` with what copies the same: a Block where a single element is copied.
  template <typename Work>
  void with_block(const Work& work) const {
    if (!dimensions_.empty()) return work(*this);
    switch (block_bytes_) {
      case 1:
        return work(Block<1>());
      case 2:
        return work(Block<2>());
      case 4:
        return work(Block<4>());
      case 8:
        return work(Block<8>());
      default:
        return work(*this);
    }
  }

 private:
  // Lets the dimension whose elements lie one after another where they come from be the last but
  // one, so that a transposition is seen.
  void bring_dense_lines_together();

  std::vector<CopyDimension> dimensions_;
  std::size_t block_bytes_;  // what lies behind them, dense on both sides
};

// Copies once.
inline void copy_elements(std::span<const CopyDimension> dimensions, std::size_t element_bytes,
                          std::byte* to, const std::byte* from) {
  ElementsCopy(dimensions, element_bytes)(to, from);
}

}  // namespace polystate
