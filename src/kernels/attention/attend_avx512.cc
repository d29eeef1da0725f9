#include "kernels/attention/attend.h"
#include "kernels/attention/attend_function.h"
#include "kernels/attention/attend_loops.h"
#include "kernels/vectors/avx512_floats.h"

namespace polystate {
namespace {

struct Avx512Vectors : vectors::Avx512Floats<Avx512Vectors> {
  static constexpr int kQueries = 4;
};

}  // namespace

AttendFunction attend_avx512() { return &attention::attend<Avx512Vectors>; }

}  // namespace polystate
