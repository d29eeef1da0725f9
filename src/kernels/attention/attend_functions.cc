#include "kernels/attention/attend_functions.h"

#include "kernels/attention/attend.h"
#include "kernels/instruction_set.h"

namespace polystate {

AttendFunctions attend_functions(InstructionSet set) {
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

AttendFunctions fastest_attend_functions() { return attend_functions(best_instruction_set()); }

}  // namespace polystate
