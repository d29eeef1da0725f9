#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/strides.h"
#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/operators.h"
#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

struct Slice {
  std::int64_t start;
  std::int64_t step;
  std::int64_t count;
};

// Python's slice start:end:step of a dimension of `size` elements.
Result<Slice> resolve_slice(std::int64_t start, std::int64_t end, std::int64_t step,
                            std::int64_t size) {
  if (step < 1) {
    return Error{ErrorCode::kEngine, "step " + std::to_string(step) + " is not positive"};
  }
  const auto clamp = [size](std::int64_t bound) {
    return std::clamp(bound < 0 ? bound + size : bound, std::int64_t{0}, size);
  };
  const std::int64_t first = clamp(start);
  const std::int64_t length = std::max(clamp(end) - first, std::int64_t{0});
  return Slice{first, step, length / step + (length % step != 0 ? 1 : 0)};
}

}  // namespace

Status SliceScatter::run(ProgramArguments& arguments) {
  const EtTensor self = arguments.program_tensor(0);
  const EtTensor src = arguments.program_tensor(1);
  const std::int64_t dim = arguments.integer(2);
  const std::int64_t start = arguments.integer(3);
  const std::int64_t end = arguments.integer(4);
  const std::int64_t step = arguments.integer(5);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (self.dim() == 0) {
    return Error{ErrorCode::kEngine, "a tensor of no dimensions has no slices"};
  }
  if (Status same = require_same_dtype(self, src); !same) {
    return same;
  }
  const Result<std::size_t> dimension = resolve_dimension(self, dim);
  if (!dimension) {
    return dimension.error();
  }
  const Result<Slice> slice = resolve_slice(start, end, step, self.sizes()[*dimension]);
  if (!slice) {
    return slice.error();
  }

  const Strides to_strides = byte_strides(self);
  const Strides from_strides = byte_strides(src);
  std::vector<CopyDimension> copy;
  bool fits = src.dim() == self.dim();
  for (std::size_t i = 0; fits && i < to_strides.size(); ++i) {
    const bool sliced = i == *dimension;
    copy.push_back({sliced ? slice->count : self.sizes()[i],
                    to_strides[i] * (sliced && slice->count > 1 ? slice->step : 1),
                    from_strides[i]});
    fits = src.sizes()[i] == copy.back().size;
  }
  if (!fits) {
    return Error{ErrorCode::kEngine, "src has shape " + to_string(src) + ", but " +
                                         std::to_string(slice->count) + " elements of dimension " +
                                         std::to_string(*dimension) + " of " + to_string(self) +
                                         " are written"};
  }
  copy_elements(copy, self.element_size(), data_of(self) + slice->start * to_strides[*dimension],
                data_of(src));
  return {};
}

}  // namespace polystate
