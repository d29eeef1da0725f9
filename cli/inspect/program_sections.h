#pragma once

#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/report/document.h"

namespace polystate::cli {

// The sections of a page that come from the program itself: weights, memory plans, life-times of
// states, and a graph of each method; of machine code, what its archive has.
Result<std::vector<report::Section>> program_sections(const Artifact& artifact);

}  // namespace polystate::cli
