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

Status SelectScatter::run(ProgramArguments& arguments) {
  const EtTensor self = arguments.program_tensor(0);
  const EtTensor src = arguments.program_tensor(1);
  const std::int64_t dim = arguments.integer(2);
  const std::int64_t index = arguments.integer(3);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (self.dim() == 0) {
    return Error{ErrorCode::kEngine, "nothing can be selected in a tensor of no dimensions"};
  }
  if (Status same = require_same_dtype(self, src); !same) {
    return same;
  }
  const Result<std::size_t> dimension = resolve_dimension(self, dim);
  if (!dimension) {
    return dimension.error();
  }
  const Result<std::int64_t> row = resolve_index(index, self.sizes()[*dimension]);
  if (!row) {
    return row.error();
  }

  const Strides to_strides = byte_strides(self);
  const Strides from_strides = byte_strides(src);
  std::vector<CopyDimension> copy;
  bool fits = src.dim() + 1 == self.dim();
  for (std::size_t i = 0; fits && i < from_strides.size(); ++i) {
    const std::size_t to = i < *dimension ? i : i + 1;
    copy.push_back({self.sizes()[to], to_strides[to], from_strides[i]});
    fits = src.sizes()[i] == copy.back().size;
  }
  if (!fits) {
    return Error{ErrorCode::kEngine, "src has shape " + to_string(src) +
                                         ", which is not the shape " + to_string(self) +
                                         " without dimension " + std::to_string(*dimension)};
  }
  copy_elements(copy, self.element_size(), data_of(self) + *row * to_strides[*dimension],
                data_of(src));
  return {};
}

}  // namespace polystate
