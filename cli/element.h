#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "polystate/core/tensor.h"

namespace polystate::cli {

// The value of one element, whatever the tensor's dtype: integers exactly, floats widened exactly.
using Element = std::variant<bool, std::int64_t, double, std::complex<double>>;

// Element `index` in row-major order; `index` must be below element_count().
Element element_at(const Tensor& tensor, std::size_t index);

// A number as people write it, of a tensor of floating-point or complex numbers: "0.1" (the
// shortest text that reads back in the tensor's own precision).
std::string real_text(const Tensor& tensor, double number);

// The element so: "true", "3", "0.1", "1-0.5j".
std::string element_text(const Tensor& tensor, std::size_t index);

}  // namespace polystate::cli
