#include "kernels/linear/linear_functions.h"

#include "kernels/instruction_set.h"
#include "kernels/linear/multiply.h"

namespace polystate {

MultiplyFloats multiply_floats(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
    case InstructionSet::kAvxVnni:
      return multiply_floats_avx2();
    case InstructionSet::kAvx512:
    case InstructionSet::kAvx512Vnni:
      return multiply_floats_avx512();
#elif defined(__aarch64__)
    case InstructionSet::kNeon:
    case InstructionSet::kNeonDot:
      return multiply_floats_neon();
#endif
    default:
      return multiply_floats_scalar();
  }
}

QuantizedLinearFunctions quantized_linear_functions(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
    case InstructionSet::kAvx512:
      return quantized_linear_avx2();
    case InstructionSet::kAvxVnni:
      return quantized_linear_avx_vnni();
    case InstructionSet::kAvx512Vnni:
      return quantized_linear_avx512_vnni();
#elif defined(__aarch64__)
    case InstructionSet::kNeonDot:
      return quantized_linear_neon_dot();
#endif
    default:
      return quantized_linear_scalar();
  }
}

MultiplyFloats fastest_multiply_floats() {
  static const MultiplyFloats fastest = multiply_floats(best_instruction_set());
  return fastest;
}

const QuantizedLinearFunctions& fastest_quantized_linear_functions() {
  static const QuantizedLinearFunctions fastest =
      quantized_linear_functions(best_instruction_set());
  return fastest;
}

}  // namespace polystate
