#pragma once

#include <memory>

#include "polystate/core/result.h"
#include "polystate/runner/runner.h"
#include "polystate/session/model.h"

namespace polystate {

// The runner that the artifact's constant `runner` names, with a session of its own. kContract when
// the artifact has none; kUnsupported for one that this build does not know; kArtifact when the
// artifact is not of the form that the runner needs, or its generation_config.json is not.
Result<std::unique_ptr<Runner>> open_runner(const Model& model);

}  // namespace polystate
