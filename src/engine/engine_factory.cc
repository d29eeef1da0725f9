#include "engine/engine_factory.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "engine/aoti_engine.h"
#include "engine/executorch/executorch_engine.h"
#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/engine/engine.h"

namespace polystate {
namespace {

Status check_threads(const std::optional<std::int64_t>& threads) {
  if (!threads || (*threads >= 1 && *threads <= kMaxThreads)) return {};
  return Error{ErrorCode::kContract, "threads is " + std::to_string(*threads) + ": 1 to " +
                                         std::to_string(kMaxThreads) + " is needed"};
}

}  // namespace

Result<std::unique_ptr<Engine>> make_engine(const Artifact& artifact, const ModelOptions& options) {
  if (const Status status = check_threads(options.threads); !status) return status.error();
  const std::string& engine = artifact.manifest().program.engine;
  if (engine == "executorch") {
    return make_executorch_engine(artifact.with_pairs(), options);
  }
  if (!options.trust_code) {
    return Error{ErrorCode::kArtifact,
                 artifact.manifest().program.file +
                     " holds machine code, which can do whatever this process can: it is run only "
                     "where it is trusted (trust_code, --trust-code)"};
  }
  return make_aoti_engine(artifact.with_pairs(), options);
}

}  // namespace polystate
