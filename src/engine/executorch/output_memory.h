#pragma once

#include <memory>
#include <vector>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {

// Where a method's outputs go. A large output's memory is used again once nobody holds it: given
// back to the system, it would be cleared at each call.
class OutputMemory {
 public:
  // Uninitialised; errors as Tensor::empty.
  Result<Tensor> tensor(DType dtype, Shape shape);

 private:
  std::vector<std::shared_ptr<Tensor>> blocks_;  // of bytes; one that is ours alone is free
};

}  // namespace polystate
