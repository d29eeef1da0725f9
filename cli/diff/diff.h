#pragma once

#include "cli/command.h"

namespace polystate::cli {

// `polystate diff A B`: what changed between two artifacts. Sets `action` where the user asks for
// it.
void declare_diff(CLI::App& polystate, Action& action);

}  // namespace polystate::cli
