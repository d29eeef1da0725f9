#include "kernels/recurrent/cell_functions.h"
#include "kernels/recurrent/cell_loops.h"
#include "kernels/recurrent/cells.h"
#include "kernels/vectors/scalar_floats.h"

namespace polystate {
namespace {

struct ScalarVectors : vectors::ScalarFloats<ScalarVectors> {};

}  // namespace

CellFunctions<float> cells_scalar() { return recurrent::cell_functions<ScalarVectors>(); }

}  // namespace polystate
