#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"

namespace polystate {

// Whether two tensors have memory in common. A kernel that writes a result before it has read all
// of an operand refuses one that does.
inline bool overlap(const TensorArgument& a, const TensorArgument& b) {
  const auto begin = [](const TensorArgument& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.bytes());
  };
  const auto end = [&](const TensorArgument& tensor) {
    return begin(tensor) +
           static_cast<std::size_t>(tensor.element_count()) * size_of(tensor.dtype());
  };
  return begin(a) < end(b) && begin(b) < end(a);
}

}  // namespace polystate
