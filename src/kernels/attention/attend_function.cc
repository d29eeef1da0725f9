#include "kernels/attention/attend_function.h"

#include "kernels/attention/attend.h"
#include "kernels/instruction_set.h"

namespace polystate {

AttendFunction attend_function(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
    case InstructionSet::kAvxVnni:
      return attend_avx2();
    case InstructionSet::kAvx512:
    case InstructionSet::kAvx512Vnni:
      return attend_avx512();
#elif defined(__aarch64__)
    case InstructionSet::kNeon:
    case InstructionSet::kNeonDot:
      return attend_neon();
#endif
    default:
      return attend_scalar();
  }
}

AttendFunction fastest_attend_function() { return attend_function(best_instruction_set()); }

}  // namespace polystate
