#pragma once

#include "kernels/attention/attend.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {

// The operators of attention with chosen inner loops; those of kernels/operators.h take the
// fastest.
Status paged_attention(KernelStack stack, AttendFunction attend);
Status cross_attention(KernelStack stack, AttendFunction attend);
Status dense_attention(KernelStack stack, AttendFunction attend);

}  // namespace polystate
