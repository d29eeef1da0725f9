#pragma once

#include <span>

#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// Checks everything that the export assumed about `inputs`: their number, dtypes, ranks, sizes,
// equalities, guards and values; and that an input which the method writes is writable and shares
// no memory with another. kContract with a message that names method, input, limit and value. Reads
// the inputs only, and allocates nothing unless it refuses them. `method` must come from
// Manifest::parse.
Status check_contract(const MethodSpec& method, std::span<const Tensor> inputs);

}  // namespace polystate
