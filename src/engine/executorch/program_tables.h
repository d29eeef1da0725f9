#pragma once

#include <cstddef>
#include <span>

#include "polystate/core/result.h"

namespace polystate {

// Checks what ExecuTorch takes for granted of a program file that passed its verifier: that every
// operator and every delegate is named. kArtifact with the method where one is not.
Status check_tables(std::span<const std::byte> program);

// Whether delegates compute much of some method, going by their number beside that of all its
// instructions. For a program that check_tables accepted.
bool relies_on_delegates(std::span<const std::byte> program);

}  // namespace polystate
