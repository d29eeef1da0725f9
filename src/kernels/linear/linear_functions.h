#pragma once

#include "core/instruction_set.h"
#include "kernels/linear/multiply.h"

namespace polystate {

// The loops for an instruction set that is available.
MultiplyFloats multiply_floats(InstructionSet set);
QuantizedLinearFunctions quantized_linear_functions(InstructionSet set);
GroupwiseLinearFunctions groupwise_linear_functions(InstructionSet set);

// The fastest loops that this machine can run.
MultiplyFloats fastest_multiply_floats();
QuantizedLinearFunctions fastest_quantized_linear_functions();
GroupwiseLinearFunctions fastest_groupwise_linear_functions();

// What the files that are compiled for one instruction set provide.
MultiplyFloats multiply_floats_scalar();
MultiplyFloats multiply_floats_neon();
MultiplyFloats multiply_floats_avx2();
MultiplyFloats multiply_floats_avx512();
QuantizedLinearFunctions quantized_linear_scalar();
QuantizedLinearFunctions quantized_linear_neon_dot();
QuantizedLinearFunctions quantized_linear_avx2();
QuantizedLinearFunctions quantized_linear_avx_vnni();
QuantizedLinearFunctions quantized_linear_avx512_vnni();
GroupwiseLinearFunctions groupwise_linear_scalar();
GroupwiseLinearFunctions groupwise_linear_neon_dot();
GroupwiseLinearFunctions groupwise_linear_avx2();
GroupwiseLinearFunctions groupwise_linear_avx_vnni();
GroupwiseLinearFunctions groupwise_linear_avx512_vnni();

}  // namespace polystate
