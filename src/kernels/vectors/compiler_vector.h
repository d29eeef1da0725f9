#pragma once

#include <cstddef>
#include <cstring>

namespace polystate {

// Several numbers that are computed with at once, as compilers of C have them. A loop over them
// keeps its sums in registers, where a compiler's own vectoriser may not.
template <typename T, std::size_t kWidth>
using CompilerVector [[gnu::vector_size(sizeof(T) * kWidth)]] = T;

// A vector, a number or an array of either, at any address.
template <typename Value, typename T>
[[gnu::always_inline]] inline void load(const T* from, Value& value) {
  std::memcpy(&value, from, sizeof(Value));
}

template <typename Value, typename T>
[[gnu::always_inline]] inline void store(const Value& value, T* to) {
  std::memcpy(to, &value, sizeof(Value));
}

}  // namespace polystate
