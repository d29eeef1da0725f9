#include "kernels/linear/float_tiles.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/vectors/avx2_floats.h"

namespace polystate {
namespace {

struct Avx2Tiles : linear::FloatTiles<Avx2Tiles, vectors::Avx2Floats> {
  static constexpr linear::BlockSize kFewRows = {.rows = 4, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = {.rows = 6, .tiles = 1};
};

}  // namespace

MultiplyFloats multiply_floats_avx2() { return &linear::multiply<Avx2Tiles>; }

}  // namespace polystate
