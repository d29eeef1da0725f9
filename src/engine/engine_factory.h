#pragma once

#include <memory>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"
#include "polystate/engine/options.h"

namespace polystate {

// Loads the artifact's program into the engine that its manifest names. kUnsupported for an engine,
// a delegate or an operator that this build lacks; kArtifact for a program that is damaged, not
// what the manifest says, or not trusted; kContract for an option out of range.
Result<std::unique_ptr<Engine>> make_engine(const Artifact& artifact, const ModelOptions& options);

}  // namespace polystate
