#include "kernels/linear/float_tiles.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/vectors/scalar_floats.h"

namespace polystate {
namespace {

struct ScalarTiles : linear::FloatTiles<ScalarTiles, vectors::ScalarFloats> {
  static constexpr linear::BlockSize kFewRows = {.rows = 1, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = kFewRows;
};

}  // namespace

MultiplyFloats multiply_floats_scalar() { return &linear::multiply<ScalarTiles>; }

}  // namespace polystate
