#pragma once

#include "kernels/arguments.h"
#include "kernels/linear/multiply.h"
#include "kernels/recurrent/cells.h"
#include "polystate/core/result.h"

namespace polystate {

struct RecurrentFunctions {
  MultiplyFloats multiply;
  CellFunctions cells;
};

// The operator with chosen inner loops; that of kernels/operators.h takes the fastest.
Status recurrence(Arguments& arguments, const RecurrentFunctions& functions);

}  // namespace polystate
