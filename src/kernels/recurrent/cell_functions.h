#pragma once

#include "core/instruction_set.h"
#include "kernels/recurrent/cells.h"

namespace polystate {

// The loops for an instruction set that is available.
LayerFunctions<float> functions_of_floats(InstructionSet set);
LayerFunctions<double> functions_of_doubles(InstructionSet set);

// What the files that are compiled for one instruction set provide.
CellFunctions<float> cells_scalar();
CellFunctions<float> cells_neon();
CellFunctions<float> cells_avx2();
CellFunctions<float> cells_avx512();

}  // namespace polystate
