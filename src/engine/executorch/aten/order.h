#pragma once

#include <type_traits>

#include "engine/executorch/aten/elements.h"

namespace polystate {

template <typename T>
constexpr bool is_nan(T x) {
  if constexpr (kIsFloat<T>) {
    return x != x;
  } else {
    return false;
  }
}

// PyTorch's order of numbers: NaN is the largest.
template <typename T>
constexpr bool is_less(T a, T b) {
  static_assert(std::is_arithmetic_v<T>, "compare numbers of 16 bits as floats");
  return a < b || (is_nan(b) && !is_nan(a));
}

}  // namespace polystate
