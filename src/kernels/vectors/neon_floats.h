#pragma once

#include <arm_neon.h>  // IWYU pragma: export

#include <cstdint>

#include "kernels/vectors/half.h"

namespace polystate::vectors {

// Four floats of a 64-bit ARM.
template <typename Local>
struct NeonFloats {
  NeonFloats() = delete;

  using Vector = float32x4_t;
  static constexpr std::int64_t kWidth = 4;

  static float32x4_t set(float x) { return vdupq_n_f32(x); }
  static float32x4_t load(const float* from) { return vld1q_f32(from); }
  static float32x4_t load_some(const float* from, std::int64_t count) {
    float lanes[kWidth] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      lanes[i] = from[i];
    }
    return vld1q_f32(lanes);
  }
  static float32x4_t load(const Half* from) {
    uint16x4_t bits;
    __builtin_memcpy(&bits, from, sizeof(bits));
    return vcvt_f32_f16(vreinterpret_f16_u16(bits));
  }
  static float32x4_t load_some(const Half* from, std::int64_t count) {
    Half lanes[kWidth] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      lanes[i] = from[i];
    }
    return load(lanes);
  }
  static void store(float* to, float32x4_t x) { vst1q_f32(to, x); }
  static void store_some(float* to, float32x4_t x, std::int64_t count) {
    float lanes[kWidth];
    vst1q_f32(lanes, x);
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = lanes[i];
    }
  }
  static void store(Half* to, float32x4_t x) {
    const uint16x4_t bits = vreinterpret_u16_f16(vcvt_f16_f32(x));
    __builtin_memcpy(to, &bits, sizeof(bits));
  }
  static void store_some(Half* to, float32x4_t x, std::int64_t count) {
    Half lanes[kWidth];
    store(lanes, x);
    for (std::int64_t i = 0; i < count; ++i) {
      to[i] = lanes[i];
    }
  }
  static float32x4_t multiply(float32x4_t x, float32x4_t y) { return vmulq_f32(x, y); }
  static float32x4_t multiply_add(float32x4_t x, float32x4_t y, float32x4_t z) {
    return vfmaq_f32(z, x, y);
  }
  static float32x4_t max(float32x4_t x, float32x4_t y) { return vmaxq_f32(x, y); }
  static float32x4_t min(float32x4_t x, float32x4_t y) { return vminq_f32(x, y); }
  static float32x4_t add(float32x4_t x, float32x4_t y) { return vaddq_f32(x, y); }
  static float32x4_t subtract(float32x4_t x, float32x4_t y) { return vsubq_f32(x, y); }
  static float32x4_t divide(float32x4_t x, float32x4_t y) { return vdivq_f32(x, y); }
  static float32x4_t round(float32x4_t x) { return vrndnq_f32(x); }
  static float32x4_t select_less(float32x4_t x, float32x4_t y, float32x4_t less,
                                 float32x4_t otherwise) {
    return vbslq_f32(vcltq_f32(x, y), less, otherwise);
  }
  static float32x4_t times_power_of_two(float32x4_t x, float32x4_t power) {
    const int32x4_t exponent = vaddq_s32(vcvtq_s32_f32(power), vdupq_n_s32(127));
    return vmulq_f32(x, vreinterpretq_f32_s32(vshlq_n_s32(exponent, 23)));
  }
  static float first(float32x4_t x) { return vgetq_lane_f32(x, 0); }
  static float largest(float32x4_t x) { return vmaxvq_f32(x); }
  static float smallest(float32x4_t x) { return vminvq_f32(x); }
  static float sum(float32x4_t x) { return vaddvq_f32(x); }
};

}  // namespace polystate::vectors
