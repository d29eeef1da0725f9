#pragma once

#include "cli/command.h"

namespace CLI {
class App;
}

namespace polystate::cli {

// Declares `chat`, which puts itself into `action` when the command line asks for it.
void declare_chat(CLI::App& polystate, Action& action);

}  // namespace polystate::cli
