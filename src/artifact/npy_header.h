#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {

// What stands before the elements in a .npy file (NumPy's format description, NEP 1).
struct NpyHeader {
  DType dtype;
  Shape shape;
  std::size_t size;  // bytes, up to the first element
};

// kContract with what is wrong.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> bytes);

// The header as NumPy writes it, byte by byte. kContract when the tensor has more dimensions than
// NumPy's 64.
Result<std::string> format_npy_header(const Tensor& tensor);

}  // namespace polystate
