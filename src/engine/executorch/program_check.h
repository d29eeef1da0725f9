#pragma once

#include <executorch/runtime/executor/program.h>

#include <cstdint>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

// The memory that a session of the program plans, for all methods together: each arena as large as
// the largest method's.
struct ArenaSizes {
  std::uint64_t activations = 0;
  std::uint64_t state = 0;
};

// Checks that the program is what the manifest says: its methods with their inputs, outputs, states
// and delegates. kArtifact where they differ, kUnsupported where this build or machine lacks an
// operator or a delegate.
Result<ArenaSizes> check_program(const executorch::runtime::Program& program,
                                 const Manifest& manifest);

}  // namespace polystate
