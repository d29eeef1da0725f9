#pragma once

#include "cli/command.h"

namespace polystate::cli {

// `polystate doctor DIR`: whether an artifact is whole and runs here as it did when it was
// exported. Sets `action` where the user asks for it.
void declare_doctor(CLI::App& polystate, Action& action);

}  // namespace polystate::cli
