#pragma once

#include "cli/command.h"

namespace CLI {
class App;
}

namespace polystate::cli {

// Declares `complete`, which puts itself into `action` when the command line asks for it.
void declare_complete(CLI::App& polystate, Action& action);

}  // namespace polystate::cli
