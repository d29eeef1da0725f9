#pragma once

#include "core/instruction_set.h"
#include "kernels/arguments.h"
#include "polystate/core/result.h"

namespace polystate {

// LayerNorm::run, on an instruction set that is available; all give equal results.
Status layer_norm(Arguments& arguments, InstructionSet set);

}  // namespace polystate
