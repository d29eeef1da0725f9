#pragma once

#include <span>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// Checks everything that the export assumed about `inputs`: their number, dtypes, ranks, sizes, equalities, guards and values.
// kContract with a message that names method, input, limit and value; reads the inputs only.
Status check_contract(const MethodSpec& method, std::span<const Tensor> inputs);

}  // namespace polystate
