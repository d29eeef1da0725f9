#pragma once

#include "polystate/artifact/manifest.h"

namespace polystate {

// A manifest as its program is: complex tensors are pairs [..., 2] of their parts.
Manifest manifest_with_pairs(Manifest manifest);

}  // namespace polystate
