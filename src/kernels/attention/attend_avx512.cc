#include "kernels/attention/attend.h"
#include "kernels/attention/attend_functions.h"
#include "kernels/attention/attend_loops.h"
#include "kernels/vectors/avx512_floats.h"

namespace polystate {
namespace {

struct Avx512Vectors : vectors::Avx512Floats<Avx512Vectors> {
  static constexpr int kQueries = 4;
};

}  // namespace

AttendFunctions attend_avx512() { return attention::attend_functions<Avx512Vectors>(); }

}  // namespace polystate
