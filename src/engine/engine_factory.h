#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"

namespace polystate {

struct EngineOptions {
  // Threads of the engine, which the whole process shares: 1 to kMaxThreads. Without a value their
  // number stays as it is.
  std::optional<std::int64_t> threads = std::nullopt;
  // Whether a program of machine code is run.
  bool trust_code = false;
};

// Loads the artifact's program into the engine that its manifest names. kUnsupported for an engine,
// a delegate or an operator that this build lacks; kArtifact for a program that is damaged, not
// what the manifest says, or not trusted; kContract for an option out of range.
Result<std::unique_ptr<Engine>> make_engine(const Artifact& artifact, const EngineOptions& options);

}  // namespace polystate
