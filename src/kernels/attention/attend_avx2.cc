#include "kernels/attention/attend.h"
#include "kernels/attention/attend_function.h"
#include "kernels/attention/attend_loops.h"
#include "kernels/vectors/avx2_floats.h"

namespace polystate {
namespace {

struct Avx2Vectors : vectors::Avx2Floats<Avx2Vectors> {
  static constexpr int kQueries = 2;
};

}  // namespace

AttendFunction attend_avx2() { return &attention::attend<Avx2Vectors>; }

}  // namespace polystate
