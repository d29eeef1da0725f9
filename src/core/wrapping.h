#pragma once

#include <cstdint>
#include <type_traits>

namespace polystate {

namespace internal {

// An unsigned integer as wide as a type, or as int if that is wider: C++ does not promote it.
template <typename V>
using Wrapping =
    std::conditional_t<(sizeof(V) > sizeof(std::uint32_t)), std::uint64_t, std::uint32_t>;

}  // namespace internal

// A sum, a difference and a product of numbers of any type. Integers keep the low bits of what is
// too large.
template <typename V>
V wrapping_sum(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    return static_cast<V>(static_cast<internal::Wrapping<V>>(a) +
                          static_cast<internal::Wrapping<V>>(b));
  } else {
    return a + b;
  }
}

template <typename V>
V wrapping_difference(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    return static_cast<V>(static_cast<internal::Wrapping<V>>(a) -
                          static_cast<internal::Wrapping<V>>(b));
  } else {
    return a - b;
  }
}

template <typename V>
V wrapping_product(V a, V b) {
  if constexpr (std::is_integral_v<V>) {
    return static_cast<V>(static_cast<internal::Wrapping<V>>(a) *
                          static_cast<internal::Wrapping<V>>(b));
  } else {
    return a * b;
  }
}

}  // namespace polystate
