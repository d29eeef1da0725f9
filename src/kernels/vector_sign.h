#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace polystate {

// Eigenvectors and singular vectors are given up to their signs, which are chosen: the first of a
// vector's elements whose size is nine tenths of the largest, or more, is positive. (By the sign of
// the largest itself, rounding would decide where two are alike, as in (1, -1).) The exporter
// compares with PyTorch under the same choice (python/polystate/export/tracing/vector_signs.py).
//
// Whether a vector of `count` elements, `stride` apart, has the other sign.
template <typename T>
bool has_other_sign(const T* elements, std::int64_t count, std::int64_t stride) {
  constexpr double kNearlyLargest = 0.9;
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(elements[i * stride])));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<double>(elements[i * stride]);
    if (std::abs(element) >= kNearlyLargest * largest) return element < 0;
  }
  return false;
}

}  // namespace polystate
