#pragma once

#include <optional>
#include <string>

#include "polystate/core/tensor.h"

namespace polystate::cli {

// How far a floating-point element may be from the recorded one: absolute + relative * |recorded|.
// Integers and bools must be equal.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};

// Where two tensors differ first, in words.
struct Difference {
  std::string place;  // "dtype", "shape", or the element: "[2, 0]"
  std::string expected;
  std::string found;
  std::string limit;  // the largest difference that was allowed; empty where they had to be equal
};

// The first difference in row-major order, if any. NaN equals NaN, and an infinity the same
// infinity.
std::optional<Difference> first_difference(const Tensor& expected, const Tensor& found,
                                           const Tolerance& tolerance);

}  // namespace polystate::cli
