#pragma once

#include <string>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

// What a processor must be and have to run a program's machine code, as `uname -m` and
// /proc/cpuinfo name it.
struct ProcessorNeeds {
  std::string machine;
  std::vector<std::string> features;
};

// kUnsupported, with what this machine lacks.
Status check_processor(const ProcessorNeeds& needs);

}  // namespace polystate
