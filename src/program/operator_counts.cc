#include "program/operator_counts.h"

#include <cstddef>
#include <map>
#include <string>

#include "program/program.h"

namespace polystate::program {

std::map<std::string, std::size_t> operator_counts(const Method& method) {
  std::map<std::string, std::size_t> counts;
  for (const Instruction& instruction : method.instructions) {
    const bool calls = instruction.kind == Instruction::Kind::kKernel ||
                       instruction.kind == Instruction::Kind::kDelegate;
    if (calls) ++counts[name_of(method, instruction)];
  }
  return counts;
}

}  // namespace polystate::program
