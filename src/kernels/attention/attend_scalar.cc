#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/attend_loops.h"
#include "kernels/vectors/scalar_floats.h"

namespace polystate {
namespace {

struct ScalarVectors : vectors::ScalarFloats<ScalarVectors> {
  static constexpr int kQueries = 2;
};

}  // namespace

AttendFunctions attend_scalar() { return attention::attend_functions<ScalarVectors>(); }

}  // namespace polystate
