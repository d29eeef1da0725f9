#pragma once

#include "kernels/check_failure.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate {

// The error of a run that stopped at a check of the program: kContract with the condition; kEngine
// when the manifest does not have the check.
Error check_error(const MethodSpec& method, const CheckFailure& failure);

}  // namespace polystate
