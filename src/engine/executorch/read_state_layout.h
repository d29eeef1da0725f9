#pragma once

#include <span>

#include "engine/arena.h"
#include "engine/executorch/loaded_method.h"
#include "engine/state_layout.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

// Reads it from a session whose methods are all loaded and of which none ran. kArtifact when a
// state is not where states may be: in the arena, apart from the others, at one address in all
// methods.
Result<StateLayout> read_state_layout(const Manifest& manifest, std::span<LoadedMethod> methods,
                                      const Arena& arena);

}  // namespace polystate
