#include <cstdint>

#include "kernels/linear/groupwise_loops.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/vectors/neon_floats.h"

namespace polystate {
namespace {

// A 64-bit ARM with dot products of signed bytes.
struct NeonDotVectors : vectors::NeonFloats<NeonDotVectors> {
  static constexpr linear::BlockSize kFewRows = {.rows = 2, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = {.rows = 3, .tiles = 1};
  static constexpr std::int32_t kOffset = 0;
  static constexpr int kVectors = 4;  // of a tile

  using Product = GroupwiseProduct;
  using Columns = linear::GroupwiseColumns<NeonDotVectors>;
  using Sums = linear::GroupwiseSums<NeonDotVectors>;

  static void store_bytes(std::int8_t* to, float32x4_t x) {
    const int16x4_t words = vqmovn_s32(vcvtnq_s32_f32(x));
    const int8x8_t bytes = vqmovn_s16(vcombine_s16(words, words));
    vst1_lane_s32(reinterpret_cast<std::int32_t*>(to), vreinterpret_s32_s8(bytes), 0);
  }

  struct GroupSums {
    int32x4_t columns[kVectors];
  };
  struct Weights {
    int8x16_t columns[kVectors];
  };

  static GroupSums first_group_sums(std::int32_t /*start*/) {
    return {{vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0), vdupq_n_s32(0)}};
  }
  static int8x16_t broadcast(const std::int8_t* from) {
    std::uint32_t four = 0;
    __builtin_memcpy(&four, from, sizeof(four));
    return vreinterpretq_s8_u32(vdupq_n_u32(four));
  }
  static Weights load_weights(const std::int8_t* from) {
    return {{vld1q_s8(from), vld1q_s8(from + 16), vld1q_s8(from + 32), vld1q_s8(from + 48)}};
  }
  static GroupSums add_products(GroupSums sums, int8x16_t x, const Weights& w) {
    for (int i = 0; i < kVectors; ++i) {
      sums.columns[i] = vdotq_s32(sums.columns[i], w.columns[i], x);
    }
    return sums;
  }
  static float32x4_t floats_of(const GroupSums& sums, int part) {
    return vcvtq_f32_s32(sums.columns[part]);
  }
  static float32x4_t result(const Sums& sums, int part, const GroupwiseRows& /*rows*/,
                            std::int64_t /*row*/, const Columns& columns) {
    return linear::groupwise_result(sums, part, columns);
  }
};

}  // namespace

GroupwiseLinearFunctions groupwise_linear_neon_dot() {
  return linear::groupwise_functions<NeonDotVectors>();
}

}  // namespace polystate
