#include "engine/executorch/aten/elements.h"

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

namespace polystate {

Result<Lanes> lanes_along(const TensorArgument& tensor, std::int64_t dimension) {
  if (tensor.rank() == 0 && (dimension == 0 || dimension == -1)) return Lanes{};
  const std::int64_t wrapped = dimension < 0 ? dimension + tensor.rank() : dimension;
  if (wrapped < 0 || wrapped >= tensor.rank()) {
    return Error{ErrorCode::kEngine, "dimension " + std::to_string(dimension) + " of a tensor of " +
                                         std::to_string(tensor.rank())};
  }
  Lanes lanes;
  for (int i = 0; i < tensor.rank(); ++i) {
    std::int64_t& part = i < wrapped ? lanes.outer : i == wrapped ? lanes.size : lanes.inner;
    part *= tensor.size(i);
  }
  return lanes;
}

std::vector<std::int64_t> reduced_shape(const TensorArgument& tensor, std::int64_t dimension,
                                        bool keeps_dimension) {
  std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  if (shape.empty()) return shape;
  const auto place = shape.begin() + (dimension < 0 ? dimension + tensor.rank() : dimension);
  if (keeps_dimension) {
    *place = 1;
  } else {
    shape.erase(place);
  }
  return shape;
}

Status require_row_major(const TensorArgument& tensor, const char* name) {
  if (tensor.is_row_major()) return {};
  return Error{ErrorCode::kEngine, std::string(name) + " is not row-major"};
}

}  // namespace polystate
