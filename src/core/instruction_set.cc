#include "core/instruction_set.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "polystate/core/result.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace polystate {
namespace {

constexpr std::array kBestFirst = {InstructionSet::kAvx512Vnni, InstructionSet::kAvx512,
                                   InstructionSet::kAvxVnni,    InstructionSet::kAvx2,
                                   InstructionSet::kNeonDot,    InstructionSet::kNeon};

constexpr std::array<std::pair<std::string_view, InstructionSet>, 5> kNames = {{
    {"scalar", InstructionSet::kScalar},
    {"neon", InstructionSet::kNeon},
    {"avx2", InstructionSet::kAvx2},
    {"avx_vnni", InstructionSet::kAvxVnni},
    {"avx512", InstructionSet::kAvx512},
}};

// The most that the environment allowed when it was first asked; kContract for no known name.
const Result<InstructionSet>& allowed() {
  static const Result<InstructionSet> most = []() -> Result<InstructionSet> {
    const char* const found = std::getenv("POLYSTATE_INSTRUCTION_SET");
    const std::string wanted = found == nullptr ? "" : found;
    if (wanted.empty()) {
      return InstructionSet::kAvx512Vnni;
    }
    for (const auto& [name, set] : kNames) {
      if (wanted == name) {
        return set;
      }
    }
    return Error{ErrorCode::kContract, "POLYSTATE_INSTRUCTION_SET is '" + wanted +
                                           "'; it may be scalar, neon, avx2, avx_vnni or avx512"};
  }();
  return most;
}

#if defined(__x86_64__)

// What CPUID tells of a machine that has AVX2; clang 14 knows these by no name.
bool has_half_floats() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29U & 1U) != 0;
}
bool has_avx_vnni() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4U & 1U) != 0;
}

#endif

}  // namespace

bool is_available(InstructionSet set) {
  switch (set) {
    case InstructionSet::kScalar:
      return true;
#if defined(__x86_64__)
    case InstructionSet::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_half_floats();
    case InstructionSet::kAvxVnni:
      return is_available(InstructionSet::kAvx2) && has_avx_vnni();
    case InstructionSet::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    case InstructionSet::kAvx512Vnni:
      return is_available(InstructionSet::kAvx512) && __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
    case InstructionSet::kNeon:
      return true;
    case InstructionSet::kNeonDot:
#if defined(__linux__)
      return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__APPLE__)
      return true;
#endif
#endif
    default:
      return false;
  }
}

std::vector<InstructionSet> available_instruction_sets() {
  std::vector<InstructionSet> sets = {InstructionSet::kScalar};
  std::copy_if(kBestFirst.rbegin(), kBestFirst.rend(), std::back_inserter(sets), is_available);
  return sets;
}

InstructionSet best_instruction_set() {
  static const InstructionSet best = [] {
    const InstructionSet most = allowed() ? *allowed() : InstructionSet::kAvx512Vnni;
    for (const InstructionSet set : kBestFirst) {
      if (set <= most && is_available(set)) {
        return set;
      }
    }
    return InstructionSet::kScalar;
  }();
  return best;
}

Status check_instruction_set() { return allowed() ? Status() : Status(allowed().error()); }

}  // namespace polystate
