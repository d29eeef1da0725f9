#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {

// How far a floating-point element may be from the recorded one: relative * |recorded| +
// absolute * the tensor's scale. The scale is the largest recorded magnitude, at least 1, of the
// elements that differ; those that are equal count up to a hundred times that, since masks tell
// nothing of how others were rounded. Elements beyond half of the dtype's range stand for infinity
// and do not count. Integers and bools must be equal.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// What is known of a tensor: its shape, and all of its elements or, for each of `places`, row-major
// indices within the shape, one.
struct Recorded {
  Tensor values;
  Shape shape;
  std::optional<std::vector<std::size_t>> places;  // none: all

  static Recorded whole(const Tensor& tensor) { return {tensor, tensor.shape(), std::nullopt}; }
};

// Where two tensors differ first, in words.
struct Difference {
  std::string place;  // "dtype", "shape", or the element: "[2, 0]"
  std::string expected;
  std::string found;
  std::string limit;  // the largest difference that was allowed; empty where they had to be equal
};

// The first difference in the order of the recorded values, if any. NaN equals NaN, and an infinity
// the same infinity.
std::optional<Difference> first_difference(const Recorded& expected, const Tensor& found,
                                           const Tolerance& tolerance);

}  // namespace polystate::cli
