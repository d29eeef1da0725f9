#include "cli/exit_status.h"

#include <utility>

#include "polystate/core/result.h"

namespace polystate::cli {

ExitStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kContract:
      return ExitStatus::kInput;
    case ErrorCode::kArtifact:
      return ExitStatus::kArtifact;
    case ErrorCode::kUnsupported:
    case ErrorCode::kEngine:
    case ErrorCode::kBusy:
      return ExitStatus::kEngine;
    case ErrorCode::kIo:
      return ExitStatus::kOutput;
  }
  return ExitStatus::kEngine;
}

Error while_opening(Error error) {
  const ErrorCode code = error.code == ErrorCode::kIo ? ErrorCode::kArtifact : error.code;
  return Error{code, std::move(error.message)};
}

Error while_reading_input(Error error) {
  return Error{ErrorCode::kContract, std::move(error.message)};
}

}  // namespace polystate::cli
