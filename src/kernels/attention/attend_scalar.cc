#include "kernels/attention/attend.h"
#include "kernels/attention/attend_function.h"
#include "kernels/attention/attend_loops.h"
#include "kernels/vectors/scalar_floats.h"

namespace polystate {
namespace {

struct ScalarVectors : vectors::ScalarFloats<ScalarVectors> {
  static constexpr int kQueries = 2;
};

}  // namespace

AttendFunction attend_scalar() { return &attention::attend<ScalarVectors>; }

}  // namespace polystate
