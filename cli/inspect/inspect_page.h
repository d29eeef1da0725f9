#pragma once

#include "polystate/artifact/artifact.h"
#include "polystate/core/result.h"
#include "polystate/report/document.h"

namespace polystate::cli {

// Everything that an artifact says of itself, and pictures of what its program computes and plans:
// the report that `polystate inspect --html` makes a page of. Errors are those of program_of.
Result<report::Document> inspect_page(const Artifact& artifact);

}  // namespace polystate::cli
