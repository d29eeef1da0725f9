#include "kernels/recurrent/cell_functions.h"
#include "kernels/recurrent/cell_loops.h"
#include "kernels/recurrent/cells.h"
#include "kernels/vectors/neon_floats.h"

namespace polystate {
namespace {

struct NeonVectors : vectors::NeonFloats<NeonVectors> {};

}  // namespace

CellFunctions<float> cells_neon() { return recurrent::cell_functions<NeonVectors>(); }

}  // namespace polystate
