#include "kernels/attention/attend_functions.h"

#include "core/compiled_for.h"
#include "core/instruction_set.h"
#include "kernels/attention/attend.h"

namespace polystate {
namespace {

struct AttendBySet {
  static constexpr auto kScalar = attend_scalar;
  static constexpr auto kNeon = attend_neon;
  static constexpr auto kAvx2 = attend_avx2;
  static constexpr auto kAvx512 = attend_avx512;
};

}  // namespace

AttendFunctions attend_functions(InstructionSet set) { return compiled_for<AttendBySet>(set)(); }

AttendFunctions fastest_attend_functions() { return attend_functions(best_instruction_set()); }

}  // namespace polystate
