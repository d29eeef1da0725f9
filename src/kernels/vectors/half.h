#pragma once

#include <cstdint>

namespace polystate {

// A number of IEEE 754 binary16, as its bits.
struct Half {
  std::uint16_t bits;
};

// The largest finite one.
inline constexpr float kLargestHalf = 65504;

}  // namespace polystate
