#include <cstdint>

#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/linear/quantized_loops.h"
#include "kernels/vectors/neon_floats.h"

namespace polystate {
namespace {

// A 64-bit ARM with dot products of signed bytes: values are less by 128.
struct NeonDotVectors : vectors::NeonFloats<NeonDotVectors> {
  static constexpr linear::BlockSize kFewRows = {.rows = 4, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = kFewRows;
  static constexpr int kVectors = 4;  // of a tile

  using Product = QuantizedProduct;
  using Columns = linear::QuantizedColumns<NeonDotVectors>;

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

  static Sums first_sums(const QuantizedRows& /*rows*/, std::int64_t /*row*/) {
    return {{vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)}};
  }
  static Values broadcast(const std::uint8_t* row, std::int64_t group) {
    std::uint32_t four = 0;
    __builtin_memcpy(&four, row + group * QuantizedWeights::kTileDepth, sizeof(four));
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

  using Integers = int32x4_t;
  static Integers load_sums(const std::int32_t* from, std::int64_t count) {
    std::int32_t lanes[kWidth] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i];
    return vld1q_s32(lanes);
  }
  static float32x4_t result(const Sums& sums, int part, const QuantizedRows& rows, std::int64_t row,
                            const Columns& columns) {
    const RowScale scale = rows.scales[row];
    const int32x4_t product = vmlsq_n_s32(sums.columns[part], columns.sums, scale.zero - 128);
    return multiply_add(vcvtq_f32_s32(product), multiply(columns.scales, set(scale.scale)),
                        columns.bias);
  }
};

}  // namespace

QuantizedLinearFunctions quantized_linear_neon_dot() {
  return linear::quantized_functions<NeonDotVectors>();
}

}  // namespace polystate
