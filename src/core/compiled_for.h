#pragma once

#include "core/instruction_set.h"

namespace polystate {

// A function for an instruction set that is available: its own, or that of the best set that it
// includes. `Functions` has a constant for each set that it is compiled for, called as in
// InstructionSet, kScalar always. What those of other machines point to need not exist.
template <typename Functions>
constexpr auto compiled_for([[maybe_unused]] InstructionSet set) {
#if defined(__x86_64__)
  if constexpr (requires { Functions::kAvx512Vnni; }) {
    if (set == InstructionSet::kAvx512Vnni) return Functions::kAvx512Vnni;
  }
  if constexpr (requires { Functions::kAvx512; }) {
    if (set >= InstructionSet::kAvx512) return Functions::kAvx512;
  }
  if constexpr (requires { Functions::kAvxVnni; }) {
    if (set == InstructionSet::kAvxVnni) return Functions::kAvxVnni;
  }
  if constexpr (requires { Functions::kAvx2; }) {
    if (set >= InstructionSet::kAvx2) return Functions::kAvx2;
  }
#elif defined(__aarch64__)
  if constexpr (requires { Functions::kNeonDot; }) {
    if (set == InstructionSet::kNeonDot) return Functions::kNeonDot;
  }
  if constexpr (requires { Functions::kNeon; }) {
    if (set == InstructionSet::kNeon || set == InstructionSet::kNeonDot) return Functions::kNeon;
  }
#endif
  return Functions::kScalar;
}

}  // namespace polystate
