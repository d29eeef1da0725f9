#pragma once

#include "kernels/arguments.h"
#include "kernels/recurrent/cells.h"
#include "polystate/core/result.h"

namespace polystate {

struct RecurrentFunctions {
  LayerFunctions<float> floats;
  LayerFunctions<double> doubles;
};

// The operator with chosen inner loops; that of kernels/operators.h takes the fastest.
Status recurrence(Arguments& arguments, const RecurrentFunctions& functions);

}  // namespace polystate
