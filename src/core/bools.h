#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "polystate/core/dtype.h"

namespace polystate {

// Whether elements are bools of which one is neither 0 nor 1: undefined behaviour to who reads it.
inline bool has_bad_bool(DType dtype, std::span<const std::byte> elements) {
  return dtype == DType::kBool && std::any_of(elements.begin(), elements.end(),
                                              [](std::byte b) { return b > std::byte{1}; });
}

}  // namespace polystate
