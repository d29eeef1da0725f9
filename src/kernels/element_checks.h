#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "kernels/check_failure.h"

namespace polystate {

// Limits of values, both inclusive.
struct CheckLimits {
  std::int64_t low;
  std::int64_t high;
};

// How messages show a value of a tensor.
template <typename T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    return std::to_string(static_cast<double>(value));
  }
}

// Integers are compared as int64, all others as double; NaN is not within.
template <typename T>
bool is_within(T value, CheckLimits limits) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value) >= limits.low &&
           static_cast<std::int64_t>(value) <= limits.high;
  } else {
    return static_cast<double>(value) >= static_cast<double>(limits.low) &&
           static_cast<double>(value) <= static_cast<double>(limits.high);
  }
}

// The failure of check `id` where an element is not within the limits: the first one's.
template <typename T>
std::optional<CheckFailure> check_elements(std::span<const T> elements, CheckLimits limits,
                                           std::int64_t id) {
  for (const T element : elements) {
    if (!is_within(element, limits)) return CheckFailure{id, element_text(element)};
  }
  return std::nullopt;
}

}  // namespace polystate
