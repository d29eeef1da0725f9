#pragma once

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

// Whether the artifact encodes sources: it has the method `encode`.
bool has_sources(const Manifest& manifest);

// Whether layers that see a window have a page table and pools of their own, beside others.
bool has_window_table(const Manifest& manifest);

// kArtifact when a method of token_model_methods is missing, or has other inputs or outputs.
Status check_methods(const Manifest& manifest);

}  // namespace polystate
