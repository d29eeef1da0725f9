#pragma once

#include <memory>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"

namespace polystate {

// The library that has the AOTInductor engine (src/engine/aoti), and needs libtorch: loaded when an
// artifact asks for it, so that nobody else needs libtorch. Both sides are built from one source;
// objects of C++ pass between them.
struct AotiComponent {
  const char* version;
  Result<std::unique_ptr<Engine>> (*make_engine)(const Artifact& artifact,
                                                 const ModelOptions& options);
};

// That of this source and compiler.
inline constexpr const char* kAotiComponentVersion = POLYSTATE_VERSION " " __VERSION__;

}  // namespace polystate
