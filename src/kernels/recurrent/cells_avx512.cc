#include "kernels/recurrent/cell_functions.h"
#include "kernels/recurrent/cell_loops.h"
#include "kernels/recurrent/cells.h"
#include "kernels/vectors/avx512_floats.h"

namespace polystate {
namespace {

struct Avx512Vectors : vectors::Avx512Floats<Avx512Vectors> {};

}  // namespace

CellFunctions<float> cells_avx512() { return recurrent::cell_functions<Avx512Vectors>(); }

}  // namespace polystate
