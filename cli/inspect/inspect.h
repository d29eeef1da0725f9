#pragma once

#include "cli/command.h"

namespace polystate::cli {

// `polystate inspect DIR`: what an artifact holds and needs, without an engine. Sets `action` where
// the user asks for it.
void declare_inspect(CLI::App& polystate, Action& action);

}  // namespace polystate::cli
