#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/report/document.h"
#include "program/program.h"

namespace polystate::program {

// What an instruction of a call took; one in a loop comes once for each time.
struct InstructionTime {
  std::size_t instruction = 0;
  std::uint64_t nanoseconds = 0;
};

// One call of a method, as an ETDump has it.
struct ProfiledCall {
  std::uint64_t nanoseconds = 0;  // as a whole
  std::vector<InstructionTime> instructions = {};
};

// The calls that an ETDump recorded, in their order; what it says of loading is left out. kArtifact
// if the bytes are not a valid ETDump. The time is bounded by their number, also for hostile bytes.
Result<std::vector<ProfiledCall>> read_profile(std::span<const std::byte> etdump);

// A call with the method that it called.
struct CallTimes {
  const Method* method = nullptr;
  ProfiledCall call = {};
};

// kArtifact where a call names an instruction that its method does not have.
Status check_times(const CallTimes& times);

// What the instructions of one operator took in all calls.
struct OperatorTime {
  std::string name;
  std::size_t calls = 0;
  std::uint64_t nanoseconds = 0;
};

// Those that took longest come first; the last is what the calls took outside of their operators,
// with their number.
std::vector<OperatorTime> operator_times(const std::vector<CallTimes>& calls);

// A box for each call, over it one for each operator, over that one for each instruction.
report::FlameGraph flame_graph_of(const std::vector<CallTimes>& calls);

}  // namespace polystate::program
