#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "polystate/core/tensor.h"

namespace polystate {

// The index of the first element (in memory order) of an integer tensor that is not within
// min..max.
std::optional<std::size_t> find_outside(const Tensor& tensor, std::int64_t min, std::int64_t max);

// An element of an integer tensor.
std::int64_t element_at(const Tensor& tensor, std::size_t index);

}  // namespace polystate
