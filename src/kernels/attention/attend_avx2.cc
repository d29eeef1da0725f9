#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/attend_loops.h"
#include "kernels/vectors/avx2_floats.h"

namespace polystate {
namespace {

struct Avx2Vectors : vectors::Avx2Floats<Avx2Vectors> {
  static constexpr int kQueries = 2;
};

}  // namespace

AttendFunctions attend_avx2() { return attention::attend_functions<Avx2Vectors>(); }

}  // namespace polystate
