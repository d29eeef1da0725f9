#include "cli/doctor/cpu.h"

#include <thread>
#include <vector>

#if defined(__aarch64__) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace polystate::cli {
namespace {

#if defined(__x86_64__)

constexpr const char* kArchitecture = "x86-64";

// cpuid, and whether the operating system keeps the wide registers.
std::vector<CpuFeature> features() {
  __builtin_cpu_init();
  return {{"AVX2", __builtin_cpu_supports("avx2") != 0},
          {"FMA", __builtin_cpu_supports("fma") != 0},
          {"AVX-VNNI", __builtin_cpu_supports("avxvnni") != 0},
          {"AVX-512", __builtin_cpu_supports("avx512f") != 0},
          {"AVX-512 VNNI", __builtin_cpu_supports("avx512vnni") != 0}};
}

#elif defined(__aarch64__)

constexpr const char* kArchitecture = "arm64";

std::vector<CpuFeature> features() {
  std::vector<CpuFeature> found = {{"NEON", true}};  // part of the architecture
#if defined(__linux__)
  found.push_back({"dot product", (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0});
  found.push_back({"I8MM", (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0});
#endif
  return found;
}

#else

constexpr const char* kArchitecture = "other";

std::vector<CpuFeature> features() { return {}; }

#endif

}  // namespace

Cpu inspect_cpu() { return {kArchitecture, std::thread::hardware_concurrency(), features()}; }

}  // namespace polystate::cli
