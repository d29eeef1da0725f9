#include "kernels/recurrent/cell_functions.h"

#include "core/compiled_for.h"
#include "core/instruction_set.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/recurrent/cells.h"

namespace polystate {
namespace {

struct CellsBySet {
  static constexpr auto kScalar = cells_scalar;
  static constexpr auto kNeon = cells_neon;
  static constexpr auto kAvx2 = cells_avx2;
  static constexpr auto kAvx512 = cells_avx512;
};

}  // namespace

LayerFunctions<float> functions_of_floats(InstructionSet set) {
  return {.multiply = multiply_floats(set), .cells = compiled_for<CellsBySet>(set)()};
}

}  // namespace polystate
