#pragma once

#include <cstdint>

#include "polystate/core/result.h"

namespace polystate::cli {

// What `polystate` returns to the shell; docs/command_line.md lists the same for users.
enum class ExitStatus : std::uint8_t {
  kSuccess = 0,
  kOutput = 1,    // a result could not be written
  kUsage = 2,     // an unknown command or option, or a malformed argument
  kArtifact = 3,  // the artifact is missing, damaged, inconsistent or not trusted
  kInput = 4,     // an input, a name or a session file that the model does not take
  kEngine =
      5,  // the engine failed, cannot run this artifact, or computes other values than recorded
  kDifferent = 6,  // `diff`: the artifacts differ
};

ExitStatus status_of(ErrorCode code);

// An error that came up while an artifact was opened. A file that cannot be read there (kIo) is the
// artifact's fault.
Error while_opening(Error error);

// An error that came up while a user's input or session file was read, which is the input's fault
// whatever it was.
Error while_reading_input(Error error);

}  // namespace polystate::cli
