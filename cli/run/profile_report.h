#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "program/profile.h"
#include "program/program.h"

namespace polystate::cli {

// How long the calls of a run took, with the program that they ran.
class CallProfile {
 public:
  // `methods`: of the calls, in their order; `etdump`: what was recorded of them. The errors are
  // those of program_of; kEngine where the record does not fit the calls.
  static Result<CallProfile> read(const Artifact& artifact, const std::vector<std::string>& methods,
                                  std::span<const std::byte> etdump);

  // The operators by the time that they took: for people, and as one line of JSON
  // (docs/command_line.md lists the keys).
  [[nodiscard]] std::string times_text() const;
  [[nodiscard]] std::string times_json() const;

  // The flame graph as a file of SVG.
  [[nodiscard]] std::string flame_svg() const;

 private:
  explicit CallProfile(program::Program program) : program_(std::move(program)) {}

  [[nodiscard]] std::vector<program::CallTimes> calls() const;

  program::Program program_;
  std::vector<std::size_t> methods_;  // of program_, for each call
  std::vector<program::ProfiledCall> calls_;
};

}  // namespace polystate::cli
