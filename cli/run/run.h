#pragma once

#include "cli/command.h"

namespace polystate::cli {

// `polystate run DIR METHOD ...`: calls methods on one session. Sets `action` where the user asks
// for it.
void declare_run(CLI::App& polystate, Action& action);

}  // namespace polystate::cli
