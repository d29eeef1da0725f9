#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/dtype.h"

namespace polystate {

// Sizes of the dimensions, outermost first; empty for a 0-d tensor.
using Shape = std::vector<std::int64_t>;

// "[7, 5]", as PyTorch writes sizes; "[]" for a 0-d tensor.
std::string to_string(std::span<const std::int64_t> shape);

// "[2, 0]": where element `index`, in row-major order, stands in a tensor of `shape`; "[]" in a 0-d
// one. There must be such an element.
std::string place_text(std::span<const std::int64_t> shape, std::size_t index);

// The product of the sizes, 1 for a 0-d tensor. Nothing when a size is negative, or when the
// elements need more bytes than a signed 64-bit number counts.
std::optional<std::size_t> element_count(DType dtype, std::span<const std::int64_t> shape);

}  // namespace polystate
