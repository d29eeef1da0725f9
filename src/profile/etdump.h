#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "profile/call_times.h"
#include "program/program.h"

namespace polystate::profile {

// The calls that an ETDump recorded, in their order; what it says of loading is left out.
// `methods`: what was called, in this order, of `program`. kArtifact if the bytes are not a valid
// ETDump, or not of these calls. The time is bounded by their number, also for hostile bytes.
Result<std::vector<CallTimes>> read_etdump(std::span<const std::byte> file,
                                           const program::Program& program,
                                           const std::vector<std::string>& methods);

}  // namespace polystate::profile
