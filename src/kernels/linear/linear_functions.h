#pragma once

#include "kernels/instruction_set.h"
#include "kernels/linear/multiply.h"

namespace polystate {

// The loops for an instruction set that is available.
LinearFunctions linear_functions(InstructionSet set);

// The fastest loops that this machine can run.
const LinearFunctions& fastest_linear_functions();

// What the files that are compiled for one instruction set provide.
LinearFunctions linear_scalar();
LinearFunctions linear_neon_dot();
LinearFunctions linear_avx2();
LinearFunctions linear_avx_vnni();
LinearFunctions linear_avx512_vnni();

}  // namespace polystate
