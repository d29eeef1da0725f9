#pragma once

#include "cli/command.h"

namespace CLI {
class App;
}

namespace polystate::cli {

// Declares `score`, which puts itself into `action` when the command line asks for it.
void declare_score(CLI::App& polystate, Action& action);

}  // namespace polystate::cli
