#include "kernels/attention/instruction_set.h"

#include <initializer_list>

#include "kernels/attention/attend.h"

namespace polystate {

bool is_available(InstructionSet set) {
  switch (set) {
    case InstructionSet::kScalar:
      return true;
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case InstructionSet::kAvx512:
      return __builtin_cpu_supports("avx512f");
#elif defined(__aarch64__)
    case InstructionSet::kNeon:
      return true;
#endif
    default:
      return false;
  }
}

AttendFunction attend_function(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
      return attend_avx2();
    case InstructionSet::kAvx512:
      return attend_avx512();
#elif defined(__aarch64__)
    case InstructionSet::kNeon:
      return attend_neon();
#endif
    default:
      return attend_scalar();
  }
}

AttendFunction fastest_attend_function() {
  static const AttendFunction fastest = [] {
    for (const InstructionSet set :
         {InstructionSet::kAvx512, InstructionSet::kAvx2, InstructionSet::kNeon}) {
      if (is_available(set)) {
        return attend_function(set);
      }
    }
    return attend_scalar();
  }();
  return fastest;
}

}  // namespace polystate
