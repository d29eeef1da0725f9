#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "profile/call_times.h"

namespace polystate::profile {

// The calls that AOTInductor's engine recorded, in their order: a trace as Chrome and Perfetto show
// it (docs/engines.md). `methods`: what was called, in this order. kArtifact if the bytes are no
// such trace, or not of these calls.
Result<std::vector<CallTimes>> read_kernel_trace(std::span<const std::byte> file,
                                                 const std::vector<std::string>& methods);

}  // namespace polystate::profile
