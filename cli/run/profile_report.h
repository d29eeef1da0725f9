#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "profile/call_times.h"

namespace polystate::cli {

// What a session recorded of calls of an artifact's methods, in their order. The errors are those
// of program_of; kEngine where the record does not fit the calls.
Result<std::vector<profile::CallTimes>> read_profile(const Artifact& artifact,
                                                     const std::vector<std::string>& methods,
                                                     std::span<const std::byte> record);

// The operators by the time that they took: for people, and as one line of JSON
// (docs/command_line.md lists the keys).
std::string times_text(const std::vector<profile::CallTimes>& calls);
std::string times_json(const std::vector<profile::CallTimes>& calls);

// The flame graph as a file of SVG.
std::string flame_svg(const std::vector<profile::CallTimes>& calls);

}  // namespace polystate::cli
