#include "kernels/recurrent/cell_functions.h"

#include "kernels/instruction_set.h"
#include "kernels/recurrent/cells.h"

namespace polystate {

CellFunctions cell_functions(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
    case InstructionSet::kAvxVnni:
      return cells_avx2();
    case InstructionSet::kAvx512:
    case InstructionSet::kAvx512Vnni:
      return cells_avx512();
#elif defined(__aarch64__)
    case InstructionSet::kNeon:
    case InstructionSet::kNeonDot:
      return cells_neon();
#endif
    default:
      return cells_scalar();
  }
}

}  // namespace polystate
