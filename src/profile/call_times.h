#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "polystate/report/document.h"

namespace polystate::profile {

// What an operator of a program, or a kernel of machine code, took in a call; one in a loop comes
// once for each time.
struct OperatorTime {
  enum class Kind : std::uint8_t { kKernel, kDelegate, kCopy };

  std::string name;
  // Which one it is in its call, and what it gives where that is known.
  std::string label;
  Kind kind = Kind::kKernel;
  std::uint64_t nanoseconds = 0;
};

// One call of a method.
struct CallTimes {
  std::string method;
  std::uint64_t nanoseconds = 0;  // as a whole
  std::vector<OperatorTime> operators = {};
};

// What all operators of one name took.
struct OperatorSum {
  std::string name;
  std::size_t calls = 0;
  std::uint64_t nanoseconds = 0;
};

// Those that took longest come first; the last is what the calls took outside of their operators,
// with their number.
std::vector<OperatorSum> operator_sums(const std::vector<CallTimes>& calls);

// A box for each call, over it one for each name of operators, over that one for each operator.
report::FlameGraph flame_graph_of(const std::vector<CallTimes>& calls);

}  // namespace polystate::profile
