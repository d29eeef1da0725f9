#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/executorch/executorch_engine.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/engine/engine.h"
#include "polystate/engine/operators.h"

namespace polystate {

// In builds that have POLYSTATE_EXECUTORCH off.
Result<std::unique_ptr<Engine>> make_executorch_engine(const Artifact& /*artifact*/,
                                                       const ModelOptions& /*options*/) {
  return Error{ErrorCode::kUnsupported,
               "the program is for ExecuTorch, whose engine this build of polystate lacks: builds "
               "that have POLYSTATE_EXECUTORCH on run it"};
}

std::vector<std::string> executorch_operators() { return {}; }

Result<std::vector<Shape>> call_operator(const std::string& name,
                                         std::span<const OperatorArgument> /*arguments*/,
                                         std::size_t /*results*/) {
  return Error{ErrorCode::kUnsupported, "there is no operator '" + name + "'"};
}

}  // namespace polystate
