#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "polystate/core/dtype.h"
#include "polystate/core/shape.h"

namespace polystate::python {

// The memory of a caller's array or tensor, which `owner` keeps alive.
struct View {
  DType dtype;
  Shape shape;
  std::vector<std::int64_t> strides;  // in bytes, one a dimension
  std::byte* data;                    // the element of index 0
  bool writable;
  pybind11::object owner;
};

// Whether the elements lie one after another in row-major order, each at a multiple of its size.
bool is_dense(const View& view);

// Whether two indices may mean the same memory; never false when they do.
bool may_overlap(const View& view);

// Whether an element of one lies in the memory of an element of the other.
bool share_memory(const View& a, const View& b);

// Copies all elements, in row-major order, to `dense`, or from there.
void gather(const View& view, std::byte* dense);
void scatter(const std::byte* dense, const View& view);

}  // namespace polystate::python
