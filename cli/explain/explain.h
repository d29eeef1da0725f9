#pragma once

#include "cli/command.h"

namespace polystate::cli {

// `polystate explain [NAME]`: the page of the example database that an error of an export names, or
// a list of all. Sets `action` where the user asks for it.
void declare_explain(CLI::App& polystate, Action& action);

}  // namespace polystate::cli
