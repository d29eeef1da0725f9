#pragma once

#include "cli/command.h"

namespace polystate::cli {

// `polystate tokenize PATH [TEXT...]`: turns texts into ids, or ids into text. Sets `action` where
// the user asks for it.
void declare_tokenize(CLI::App& polystate, Action& action);

}  // namespace polystate::cli
