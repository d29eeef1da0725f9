#pragma once

#include <memory>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"

namespace polystate {

// As make_engine, for AOTInductor, by the library that has its engine. kUnsupported when that
// is not there, with how to get it.
Result<std::unique_ptr<Engine>> make_aoti_engine(const Artifact& artifact,
                                                 const ModelOptions& options);

}  // namespace polystate
