#pragma once

#include <cstdint>

namespace polystate {

// IEEE 754 binary16 and bfloat16, given as their bits. To float is exact; from float rounds to
// nearest, ties to even.
float float16_to_float(std::uint16_t bits);
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_float16(float value);
std::uint16_t float_to_bfloat16(float value);

}  // namespace polystate
