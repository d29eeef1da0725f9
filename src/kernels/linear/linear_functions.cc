#include "kernels/linear/linear_functions.h"

#include "kernels/instruction_set.h"
#include "kernels/linear/multiply.h"

namespace polystate {

LinearFunctions linear_functions(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
    case InstructionSet::kAvx512:
      return linear_avx2();
    case InstructionSet::kAvxVnni:
      return linear_avx_vnni();
    case InstructionSet::kAvx512Vnni:
      return linear_avx512_vnni();
#elif defined(__aarch64__)
    case InstructionSet::kNeonDot:
      return linear_neon_dot();
#endif
    default:
      return linear_scalar();
  }
}

const LinearFunctions& fastest_linear_functions() {
  static const LinearFunctions fastest = linear_functions(best_instruction_set());
  return fastest;
}

}  // namespace polystate
