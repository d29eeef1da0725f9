#include "kernels/linear/float_tiles.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/vectors/neon_floats.h"

namespace polystate {
namespace {

struct NeonTiles : linear::FloatTiles<NeonTiles, vectors::NeonFloats> {
  static constexpr linear::BlockSize kFewRows = {.rows = 4, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = kFewRows;
};

}  // namespace

MultiplyFloats multiply_floats_neon() { return &linear::multiply<NeonTiles>; }

}  // namespace polystate
