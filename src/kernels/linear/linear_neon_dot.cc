#include <cstdint>

#include "kernels/linear/linear_functions.h"
#include "kernels/linear/linear_loops.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/vectors/neon_floats.h"

namespace polystate {
namespace {

// A 64-bit ARM with dot products of signed bytes: values are less by 128.
struct NeonDotVectors : vectors::NeonFloats<NeonDotVectors> {
  static constexpr linear::BlockSize kFewRows = {.rows = 4, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = kFewRows;
  static constexpr int kVectors = 4;  // of a tile

  static constexpr std::uint8_t kFlipped = 0x80;

  static float nearest(float x) { return __builtin_nearbyintf(x); }
  static void store_bytes(std::uint8_t* to, float32x4_t x, std::int32_t zero) {
    const int32x4_t value = vaddq_s32(vcvtnq_s32_f32(x), vdupq_n_s32(zero));
    const uint16x4_t words = vqmovun_s32(value);
    const uint8x8_t bytes = veor_u8(vqmovn_u16(vcombine_u16(words, words)), vdup_n_u8(kFlipped));
    vst1_lane_u32(reinterpret_cast<std::uint32_t*>(to), vreinterpret_u32_u8(bytes), 0);
  }

  struct Sums {
    int32x4_t columns[kVectors];
  };
  using Values = int8x16_t;
  struct Weights {
    int8x16_t columns[kVectors];
  };

  static Sums no_sums() {
    return {{vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)}};
  }
  static Values broadcast(const std::uint8_t* from) {
    std::uint32_t four = 0;
    __builtin_memcpy(&four, from, sizeof(four));
    return vreinterpretq_s8_u32(vdupq_n_u32(four));
  }
  static Weights load_weights(const std::int8_t* from) {
    return {{vld1q_s8(from), vld1q_s8(from + 16), vld1q_s8(from + 32), vld1q_s8(from + 48)}};
  }
  static Sums add_products(Sums sums, Values x, const Weights& w) {
    for (int i = 0; i < kVectors; ++i) {
      sums.columns[i] = vdotq_s32(sums.columns[i], w.columns[i], x);
    }
    return sums;
  }
  static void finish(const Sums& sums, RowScale scale, const TileColumns& columns, float* out) {
    std::int32_t lanes[kTileColumns];
    for (int i = 0; i < kVectors; ++i) vst1q_s32(lanes + i * kWidth, sums.columns[i]);
    const PackedWeights& weights = columns.weights;
    for (std::int64_t i = 0; i < columns.count; ++i) {
      const std::int64_t c = columns.first + i;
      const std::int32_t product = lanes[i] - (scale.zero - 128) * weights.sums[c];
      out[i] = __builtin_fmaf(static_cast<float>(product), scale.scale * weights.scales[c],
                              weights.bias == nullptr ? 0.0F : weights.bias[c]);
    }
  }
};

}  // namespace

LinearFunctions linear_neon_dot() { return linear::functions<NeonDotVectors>(); }

}  // namespace polystate
