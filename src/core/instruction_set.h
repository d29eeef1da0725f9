#pragma once

#include <cstdint>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

// What inner loops are compiled for; each includes those before it of its machine.
enum class InstructionSet : std::uint8_t {
  kScalar,
  kNeon,
  kNeonDot,  // with dot products of bytes
  kAvx2,
  kAvxVnni,  // with dot products of bytes; a machine with AVX-512 may lack it
  kAvx512,
  kAvx512Vnni,  // with dot products of bytes
};

// Whether this build has loops for an instruction set and this machine can run them.
bool is_available(InstructionSet set);

// Those that are, kScalar first.
std::vector<InstructionSet> available_instruction_sets();

// The best one that this machine can run. POLYSTATE_INSTRUCTION_SET in the environment ("scalar",
// "neon", "avx2", "avx_vnni", "avx512") is the most that is taken.
InstructionSet best_instruction_set();

// kContract when the environment asks for something else.
Status check_instruction_set();

}  // namespace polystate
