#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace polystate {

// Distances between neighbours along each dimension, in elements unless it is said otherwise.
using Strides = std::vector<std::int64_t>;

// Of elements that lie one after another, the last dimension running fastest. Dimensions of no
// elements count as those of one, as PyTorch has it.
Strides row_major_strides(std::span<const std::int64_t> shape);

}  // namespace polystate
