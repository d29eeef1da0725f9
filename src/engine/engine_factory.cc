#include "engine/engine_factory.h"

#include <memory>
#include <string>

#include "engine/executorch/executorch_engine.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"

namespace polystate {

Result<std::unique_ptr<Engine>> make_engine(const Artifact& artifact,
                                            const EngineOptions& options) {
  const std::string& engine = artifact.manifest().program.engine;
  if (engine == "executorch") {
    return make_executorch_engine(artifact, options);
  }
  return Error{ErrorCode::kUnsupported,
               "manifest.json: program.engine is '" + engine + "'; this build has executorch"};
}

}  // namespace polystate
