#pragma once

#include <string_view>

#include "polystate/core/result.h"

namespace polystate::cli {

// Whether the methods of a manifest have the contract that was recorded when the program was made:
// the ranges of sizes and values, and the conditions. `recorded` is what golden.npz has as
// "contract" (docs/artifact.md). kArtifact, with the first difference, where they have not.
Status check_recorded_contract(std::string_view manifest, std::string_view recorded);

}  // namespace polystate::cli
