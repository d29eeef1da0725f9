#include "kernels/attention/attend.h"
#include "kernels/attention/attend_function.h"
#include "kernels/attention/attend_loops.h"
#include "kernels/vectors/neon_floats.h"

namespace polystate {
namespace {

struct NeonVectors : vectors::NeonFloats<NeonVectors> {
  static constexpr int kQueries = 4;
};

}  // namespace

AttendFunction attend_neon() { return &attention::attend<NeonVectors>; }

}  // namespace polystate
