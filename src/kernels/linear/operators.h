#pragma once

#include "kernels/linear/multiply.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {

// The operator with chosen inner loops; the one of kernels/operators.h takes the fastest.
Status quantized_linear(KernelStack stack, const LinearFunctions& functions);

}  // namespace polystate
