#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/executorch/operators/program_arguments.h"
#include "polystate/core/result.h"

// Numbers of each dimension of a plane or a volume. A plane, and a signal, is computed as a volume
// of which the first sizes are 1.
namespace polystate {

using Triple = std::array<std::int64_t, 3>;  // of depth, height and width

// A list of one number for each of `rank` dimensions, or of one for all. kEngine where it is no
// such list, or has a number below `least`.
Result<Triple> triple(ProgramArguments& arguments, std::size_t index, std::size_t rank,
                      std::int64_t otherwise, std::int64_t least);

// The quotient of a number from 0 on, rounded up.
constexpr std::int64_t quotient_above(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace polystate
