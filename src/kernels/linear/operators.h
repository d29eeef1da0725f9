#pragma once

#include "kernels/linear/multiply.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {

// The operators with chosen inner loops; those of kernels/operators.h take the fastest.
Status packed_linear(Arguments& arguments, MultiplyFloats multiply);
Status quantized_linear(Arguments& arguments, const QuantizedLinearFunctions& functions);
Status groupwise_linear(Arguments& arguments, const GroupwiseLinearFunctions& functions);

}  // namespace polystate
