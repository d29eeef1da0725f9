#pragma once

#include "core/instruction_set.h"
#include "kernels/attention/attend.h"

namespace polystate {

// The loops for an instruction set that is available.
AttendFunctions attend_functions(InstructionSet set);

// The fastest loops that this machine can run.
AttendFunctions fastest_attend_functions();

// What the files that are compiled for one instruction set provide.
AttendFunctions attend_scalar();
AttendFunctions attend_neon();
AttendFunctions attend_avx2();
AttendFunctions attend_avx512();

}  // namespace polystate
