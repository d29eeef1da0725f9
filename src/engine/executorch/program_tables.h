#pragma once

#include <cstddef>
#include <span>

#include "polystate/core/result.h"

namespace polystate {

// Checks what ExecuTorch takes for granted of a program file that passed its verifier: that every
// operator and every delegate is named. kArtifact with the method where one is not.
Status check_tables(std::span<const std::byte> program);

}  // namespace polystate
