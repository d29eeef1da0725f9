#pragma once

#include <string>

#include "polystate/artifact/artifact.h"

namespace polystate::cli {

// Everything that an artifact says of itself, in tables. `has_colour`: headings are bold.
std::string inspect_text(const Artifact& artifact, bool has_colour);

// The same as one line of JSON; docs/command_line.md lists the keys.
std::string inspect_json(const Artifact& artifact);

}  // namespace polystate::cli
