#include <optional>
#include <vector>

#include "engine/executorch/operators/layout.h"
#include "engine/executorch/operators/operators.h"
#include "engine/executorch/operators/program_arguments.h"
#include "engine/executorch/operators/selection.h"
#include "polystate/core/result.h"

namespace polystate {

Status IndexPut::run(ProgramArguments& arguments) {
  const EtTensor self = arguments.program_tensor(0);
  const std::vector<std::optional<EtTensor>> indices = arguments.optional_program_tensors(1);
  const EtTensor values = arguments.program_tensor(2);
  const bool accumulate = arguments.boolean(3);
  if (!arguments.status()) {
    return arguments.status();
  }
  if (Status same = require_same_dtype(self, values); !same) {
    return same;
  }
  Result<Selection> selection = Selection::create(self, indices);
  if (!selection) {
    return selection.error();
  }
  if (Status paired = selection->pair_with(values); !paired) {
    return paired;
  }
  if (accumulate) {
    return selection->add(self, values);
  }
  selection->write(self, values);
  return {};
}

}  // namespace polystate
