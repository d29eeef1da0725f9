#pragma once

#include <cstdint>

#include "engine/executorch/aten/elements.h"

namespace polystate {

// Converts `count` floats of 16 bits that lie one after another, as static_cast does.
void widen(const Half* from, std::int64_t count, float* to);
void widen(const BFloat16* from, std::int64_t count, float* to);

// The same the other way around: to the nearest one, of two the even one.
void narrow(const float* from, std::int64_t count, Half* to);
void narrow(const float* from, std::int64_t count, BFloat16* to);

}  // namespace polystate
