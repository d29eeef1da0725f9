#include "engine/executorch/aten/reductions.h"

#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate {

Result<Reduction> reduction_named(std::string_view name) {
  if (name == "sum") return Reduction::kSum;
  if (name == "prod") return Reduction::kProduct;
  if (name == "mean") return Reduction::kMean;
  if (name == "amax" || name == "max") return Reduction::kLargest;
  if (name == "amin" || name == "min") return Reduction::kSmallest;
  return Error{ErrorCode::kEngine, "reduction '" + std::string(name) + "'"};
}

}  // namespace polystate
