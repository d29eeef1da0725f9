#pragma once

#include <map>
#include <string>
#include <string_view>

#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {

// Reads SHA256SUMS: one line a file, exactly "<64 lower-case hex digits><two spaces><name><line
// feed>", sorted by name. kArtifact with the line for anything else.
Result<std::map<std::string, Sha256>> parse_checksums(std::string_view text);

}  // namespace polystate
