#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "core/half.h"
#include "kernels/vectors/half.h"

namespace polystate::vectors {

// One float as a vector, for every machine; what the others are compared with.
template <typename Local>
struct ScalarFloats {
  ScalarFloats() = delete;

  using Vector = float;
  static constexpr std::int64_t kWidth = 1;

  static float set(float x) { return x; }
  static float load(const float* from) { return *from; }
  static float load_some(const float* from, std::int64_t /*count*/) { return *from; }
  static float load(const Half* from) { return float16_to_float(from->bits); }
  static float load_some(const Half* from, std::int64_t /*count*/) { return load(from); }
  static void store(float* to, float x) { *to = x; }
  static void store_some(float* to, float x, std::int64_t /*count*/) { *to = x; }
  static void store(Half* to, float x) { to->bits = float_to_float16(x); }
  static void store_some(Half* to, float x, std::int64_t /*count*/) { store(to, x); }
  static float multiply(float x, float y) { return x * y; }
  static float multiply_add(float x, float y, float z) { return x * y + z; }
  static float max(float x, float y) { return x > y ? x : y; }
  static float min(float x, float y) { return x < y ? x : y; }
  static float add(float x, float y) { return x + y; }
  static float subtract(float x, float y) { return x - y; }
  static float divide(float x, float y) { return x / y; }
  static float round(float x) { return std::nearbyint(x); }
  static float select_less(float x, float y, float less, float otherwise) {
    return x < y ? less : otherwise;
  }
  static float times_power_of_two(float x, float power) {
    return x * std::bit_cast<float>(static_cast<std::uint32_t>(power + 127) << 23U);
  }
  static float first(float x) { return x; }
  static float largest(float x) { return x; }
  static float smallest(float x) { return x; }
  static float sum(float x) { return x; }
};

}  // namespace polystate::vectors
