#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "program/program.h"

namespace polystate::program {

// Values in the file that no method changes: a constant tensor, or what delegates have there.
struct Weight {
  std::string name = {};  // what the program calls it; often empty
  std::string type = {};  // "float32 [8, 12]"; empty for a delegate's
  std::span<const std::byte> bytes = {};
  std::vector<std::size_t> methods = {};  // that use it; empty for a delegate's
};

// Each once, in the order of the file.
std::vector<Weight> weights_of(const Program& program);

}  // namespace polystate::program
