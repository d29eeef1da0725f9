#include <cstdint>

#include "kernels/linear/groupwise_avx2_tiles.h"
#include "kernels/linear/groupwise_loops.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"

namespace polystate {
namespace {

// The machine multiplies unsigned by signed bytes: weights are greater by 128.
struct AvxVnniVectors : linear::GroupwiseAvx2Tiles<AvxVnniVectors> {
  static constexpr linear::BlockSize kFewRows = {.rows = 2, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = {.rows = 3, .tiles = 1};
  static constexpr std::int32_t kOffset = 128;

  static __m256i broadcast(const std::int8_t* from) { return broadcast_four(from); }
  static HalfSums add_half(HalfSums sums, __m256i x, __m256i w) {
    return reinterpret_cast<HalfSums>(
        _mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums), w, x));
  }
};

}  // namespace

GroupwiseLinearFunctions groupwise_linear_avx_vnni() {
  return linear::groupwise_functions<AvxVnniVectors>();
}

}  // namespace polystate
