#pragma once

#include "kernels/attention/attend.h"
#include "kernels/operators.h"
#include "polystate/core/result.h"

namespace polystate {

// The operators of attention with chosen inner loops; those of kernels/operators.h take the
// fastest.
Status paged_attention(Arguments& arguments, const AttendFunctions& functions);
Status cross_attention(Arguments& arguments, const AttendFunctions& functions);
Status dense_attention(Arguments& arguments, const AttendFunctions& functions);

}  // namespace polystate
