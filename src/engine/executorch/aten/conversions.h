#pragma once

#include <cstddef>
#include <cstdint>

#include "polystate/core/dtype.h"

namespace polystate {

// Converts `count` numbers that lie one after another, as static_cast does; the one side is the
// elements of a tensor.
template <typename Number>
using ConversionFrom = void (*)(const std::byte* elements, std::int64_t count, Number* to);
template <typename Number>
using ConversionTo = void (*)(const Number* from, std::int64_t count, std::byte* elements);

// Of elements of any type to float, double and std::int64_t, and of bools and integers to
// std::int32_t and std::uint8_t; null where they lie as such numbers. Bools lie as bytes of 0
// and 1.
template <typename Number>
ConversionFrom<Number> conversion_from(DType dtype);

// The other way around: from float and double to floats, and from std::int64_t and std::int32_t to
// bools and integers.
template <typename Number>
ConversionTo<Number> conversion_to(DType dtype);

}  // namespace polystate
