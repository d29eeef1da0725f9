#include "engine/executorch/aten/reductions.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/program_arguments.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

Result<std::vector<bool>> reduced_dimensions(
    const TensorArgument& self, const std::optional<std::vector<std::int64_t>>& given) {
  const bool all = !given || given->empty();
  std::vector<bool> is_reduced(self.shape().size(), all);
  if (all) return is_reduced;
  for (const std::int64_t dimension : *given) {
    const Result<std::size_t> place = resolve_dimension(self.shape(), dimension);
    if (!place || (!is_reduced.empty() && is_reduced[*place])) {
      return Error{ErrorCode::kEngine,
                   "dimension " + std::to_string(dimension) + " is none, or is there twice"};
    }
    if (!is_reduced.empty()) is_reduced[*place] = true;
  }
  return is_reduced;
}

ReducedElements reduced_elements(const TensorArgument& self, const std::vector<bool>& is_reduced,
                                 bool keeps_dimensions) {
  ReducedElements found;
  std::vector<std::int64_t> strides(is_reduced.size());
  std::int64_t stride = 1;
  for (std::size_t i = is_reduced.size(); i-- > 0; stride *= self.shape()[i]) strides[i] = stride;
  for (std::size_t i = 0; i < is_reduced.size(); ++i) {
    const std::int64_t size = self.shape()[i];
    (is_reduced[i] ? found.reduced : found.kept).add(size, strides[i]);
    if (!is_reduced[i]) {
      found.shape.push_back(size);
    } else if (keeps_dimensions) {
      found.shape.push_back(1);
    }
  }
  return found;
}

}  // namespace

Result<Reduction> reduction_named(std::string_view name) {
  if (name == "sum") return Reduction::kSum;
  if (name == "prod") return Reduction::kProduct;
  if (name == "mean") return Reduction::kMean;
  if (name == "amax" || name == "max") return Reduction::kLargest;
  if (name == "amin" || name == "min") return Reduction::kSmallest;
  return Error{ErrorCode::kEngine, "reduction '" + std::string(name) + "'"};
}

Result<ReductionCall> reduction_call(ProgramArguments& arguments,
                                     const std::optional<std::vector<std::int64_t>>& dimensions,
                                     std::optional<std::size_t> keepdim_index,
                                     std::size_t out_index) {
  const TensorArgument self = arguments.tensor(0);
  const bool keeps_dimensions = keepdim_index && arguments.boolean(*keepdim_index);
  if (!arguments.status()) return arguments.status().error();
  if (const Status row_major = require_row_major(self, "self"); !row_major) {
    return row_major.error();
  }
  const Result<std::vector<bool>> is_reduced = reduced_dimensions(self, dimensions);
  if (!is_reduced) return is_reduced.error();
  ReducedElements operands = reduced_elements(self, *is_reduced, keeps_dimensions);
  const Result<TensorArgument> out = arguments.result_at(out_index, operands.shape);
  if (!out) return out.error();
  return ReductionCall{self, *out, std::move(operands)};
}

}  // namespace polystate
