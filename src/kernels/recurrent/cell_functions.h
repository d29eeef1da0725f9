#pragma once

#include "core/instruction_set.h"
#include "kernels/recurrent/cells.h"

namespace polystate {

// The loops for an instruction set that is available.
CellFunctions cell_functions(InstructionSet set);

// What the files that are compiled for one instruction set provide.
CellFunctions cells_scalar();
CellFunctions cells_neon();
CellFunctions cells_avx2();
CellFunctions cells_avx512();

}  // namespace polystate
