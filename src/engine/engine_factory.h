#pragma once

#include <cstdint>
#include <memory>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"

namespace polystate {

struct EngineOptions {
  // Threads of the engine's pool, which the whole process shares; 0 leaves it as it is.
  std::uint32_t threads = 0;
};

// Loads the artifact's program into the engine that its manifest names. kUnsupported for an engine,
// a delegate or an operator that this build lacks; kArtifact for a program that is damaged or not
// what the manifest says.
Result<std::unique_ptr<Engine>> make_engine(const Artifact& artifact, const EngineOptions& options);

}  // namespace polystate
