#pragma once

#include <cstdint>

#include "kernels/attention/attend.h"

namespace polystate {

enum class InstructionSet : std::uint8_t { kScalar, kNeon, kAvx2, kAvx512 };

// Whether this build has the inner loops for an instruction set and this machine can run them.
bool is_available(InstructionSet set);

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
