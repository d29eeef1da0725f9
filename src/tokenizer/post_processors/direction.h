#pragma once

#include <cstdint>

namespace polystate::tokenizer {

// The end of an encoding that is cut, or that padding is put at.
enum class Direction : std::uint8_t { kLeft, kRight };

}  // namespace polystate::tokenizer
