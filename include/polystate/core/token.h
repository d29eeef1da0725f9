#pragma once

#include <cstdint>

namespace polystate {

// An entry of a vocabulary.
using TokenId = std::uint32_t;

}  // namespace polystate
