#pragma once

#include <memory>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"

namespace polystate {

// As make_engine, for ExecuTorch, with options in range.
Result<std::unique_ptr<Engine>> make_executorch_engine(const Artifact& artifact,
                                                       const ModelOptions& options);

}  // namespace polystate
