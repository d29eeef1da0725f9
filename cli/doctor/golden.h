#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/doctor/compare.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/session/session.h"

namespace polystate::cli {

// The first place where a replayed call gave something else than was recorded.
struct Deviation {
  std::size_t call;  // from 0, as golden.npz numbers them
  std::string method;
  std::string tensor;  // "output '0'", "input 'data' after the call"
  Difference difference;
};

// What came of replaying an artifact's golden calls.
struct Replay {
  std::size_t calls = 0;  // that ran and agreed
  std::size_t elements = 0;
  std::optional<Deviation> deviation;
};

// Runs the golden calls that the artifact's manifest lists, in order on `session`, which must be in
// its initial state, up to the first deviation. kArtifact where the record itself is at fault: a
// tensor is missing, a call breaks its own contract, or the manifest's contract is not the one that
// was recorded.
Result<Replay> replay_golden(const Artifact& artifact, const GoldenSpec& golden, Session& session);

// "call_001 (decode), output '0' [0, 3]: expected 1.5, found 1.25, limit 2.5e-06".
std::string deviation_text(const Deviation& deviation);

}  // namespace polystate::cli
