#include "kernels/linear/float_tiles.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/vectors/avx512_floats.h"

namespace polystate {
namespace {

struct Avx512Tiles : linear::FloatTiles<Avx512Tiles, vectors::Avx512Floats> {
  static constexpr linear::BlockSize kFewRows = {.rows = 6, .tiles = 4};
  static constexpr linear::BlockSize kManyRows = {.rows = 12, .tiles = 2};
};

}  // namespace

MultiplyFloats multiply_floats_avx512() { return &linear::multiply<Avx512Tiles>; }

}  // namespace polystate
