#pragma once

#include <string>
#include <vector>

namespace polystate::cli {

struct CpuFeature {
  std::string name;  // "AVX2"
  bool is_available;
};

// The processor that the process runs on, as the operating system lets it be used.
struct Cpu {
  std::string architecture;  // "x86-64", "arm64", "other"
  unsigned threads;          // hardware threads; 0 where unknown
  // The instruction sets that the engine's and our own kernels have paths for, on this
  // architecture.
  std::vector<CpuFeature> features;
};

Cpu inspect_cpu();

}  // namespace polystate::cli
