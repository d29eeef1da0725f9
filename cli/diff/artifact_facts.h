#pragma once

#include <map>
#include <string>
#include <vector>

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"

namespace polystate::cli {

// What there is to compare of one part of an artifact: names with what is said of each.
struct FactSection {
  std::string title;
  std::map<std::string, std::string> facts;
};

// All parts of an artifact, always in the same order. `methods`: those that are told about; what
// only one of two artifacts has is one difference, not as many as it has parts. Errors are those of
// program_of.
Result<std::vector<FactSection>> facts_of(const Artifact& artifact,
                                          const std::vector<std::string>& methods);

}  // namespace polystate::cli
