#pragma once

#include "kernels/linear/multiply.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {

// The operators with chosen inner loops; those of kernels/operators.h take the fastest.
Status packed_linear(KernelStack stack, MultiplyFloats multiply);
Status quantized_linear(KernelStack stack, const QuantizedLinearFunctions& functions);

}  // namespace polystate
