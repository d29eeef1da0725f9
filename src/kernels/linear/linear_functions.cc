#include "kernels/linear/linear_functions.h"

#include "core/compiled_for.h"
#include "core/instruction_set.h"
#include "kernels/linear/multiply.h"

namespace polystate {
namespace {

struct MultiplyBySet {
  static constexpr auto kScalar = multiply_floats_scalar;
  static constexpr auto kNeon = multiply_floats_neon;
  static constexpr auto kAvx2 = multiply_floats_avx2;
  static constexpr auto kAvx512 = multiply_floats_avx512;
};

struct QuantizedBySet {
  static constexpr auto kScalar = quantized_linear_scalar;
  static constexpr auto kNeonDot = quantized_linear_neon_dot;
  static constexpr auto kAvx2 = quantized_linear_avx2;
  static constexpr auto kAvxVnni = quantized_linear_avx_vnni;
  static constexpr auto kAvx512Vnni = quantized_linear_avx512_vnni;
};

struct GroupwiseBySet {
  static constexpr auto kScalar = groupwise_linear_scalar;
  static constexpr auto kNeonDot = groupwise_linear_neon_dot;
  static constexpr auto kAvx2 = groupwise_linear_avx2;
  static constexpr auto kAvxVnni = groupwise_linear_avx_vnni;
  static constexpr auto kAvx512Vnni = groupwise_linear_avx512_vnni;
};

}  // namespace

MultiplyFloats multiply_floats(InstructionSet set) { return compiled_for<MultiplyBySet>(set)(); }

QuantizedLinearFunctions quantized_linear_functions(InstructionSet set) {
  return compiled_for<QuantizedBySet>(set)();
}

GroupwiseLinearFunctions groupwise_linear_functions(InstructionSet set) {
  return compiled_for<GroupwiseBySet>(set)();
}

MultiplyFloats fastest_multiply_floats() { return multiply_floats(best_instruction_set()); }

QuantizedLinearFunctions fastest_quantized_linear_functions() {
  return quantized_linear_functions(best_instruction_set());
}

GroupwiseLinearFunctions fastest_groupwise_linear_functions() {
  return groupwise_linear_functions(best_instruction_set());
}

}  // namespace polystate
