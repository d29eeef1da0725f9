#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/executorch/operators/program_arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

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

// The argument `index`, which is an `out`, with self's type and a shape. Fails where it lies where
// self does.
inline Result<TensorArgument> result_beside(ProgramArguments& arguments, std::size_t index,
                                            const TensorArgument& self,
                                            std::span<const std::int64_t> shape) {
  Result<TensorArgument> out = arguments.result_at(index, self.dtype(), shape);
  if (out && overlap(self, *out)) return Error{ErrorCode::kEngine, "out lies where self does"};
  return out;
}

}  // namespace polystate
