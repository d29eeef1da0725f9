#pragma once

#include "kernels/attention/attend.h"
#include "kernels/instruction_set.h"

namespace polystate {

// The loops for an instruction set that is available.
AttendFunction attend_function(InstructionSet set);

// The fastest loops that this machine can run.
AttendFunction fastest_attend_function();

// What the files that are compiled for one instruction set provide.
AttendFunction attend_scalar();
AttendFunction attend_neon();
AttendFunction attend_avx2();
AttendFunction attend_avx512();

}  // namespace polystate
