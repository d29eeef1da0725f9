#pragma once

#include <limits>

namespace polystate {

template <typename T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <typename T>
inline constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

}  // namespace polystate
