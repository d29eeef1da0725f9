#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/attend_loops.h"
#include "kernels/vectors/neon_floats.h"

namespace polystate {
namespace {

struct NeonVectors : vectors::NeonFloats<NeonVectors> {
  static constexpr int kQueries = 4;
};

}  // namespace

AttendFunctions attend_neon() { return attention::attend_functions<NeonVectors>(); }

}  // namespace polystate
