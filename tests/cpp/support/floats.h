#pragma once

#include <utility>
#include <vector>

#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {

// A tensor of float32.
inline Tensor floats(Shape shape, const std::vector<float>& values) {
  return Tensor::of(std::move(shape), values).value();
}

}  // namespace polystate
