#include "kernels/recurrent/cell_functions.h"
#include "kernels/recurrent/cell_loops.h"
#include "kernels/recurrent/cells.h"
#include "kernels/vectors/avx2_floats.h"

namespace polystate {
namespace {

struct Avx2Vectors : vectors::Avx2Floats<Avx2Vectors> {};

}  // namespace

CellFunctions<float> cells_avx2() { return recurrent::cell_functions<Avx2Vectors>(); }

}  // namespace polystate
