#include <cstdint>

#include "kernels/linear/groupwise_avx2_tiles.h"
#include "kernels/linear/groupwise_loops.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"

namespace polystate {
namespace {

// The machine multiplies unsigned by signed bytes and adds pairs of products in 16 bits. Values
// give their signs to the weights: 127 x 127 twice, the most that occurs, fits.
struct Avx2Vectors : linear::GroupwiseAvx2Tiles<Avx2Vectors> {
  static constexpr linear::BlockSize kFewRows = {.rows = 2, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = {.rows = 2, .tiles = 2};
  static constexpr std::int32_t kOffset = 0;

  struct Values {
    __m256i magnitudes;
    __m256i signs;
  };

  static Values broadcast(const std::int8_t* from) {
    const __m256i x = broadcast_four(from);
    return {_mm256_abs_epi8(x), x};
  }
  static HalfSums add_half(HalfSums sums, Values x, __m256i w) {
    const __m256i pairs = _mm256_maddubs_epi16(x.magnitudes, _mm256_sign_epi8(w, x.signs));
    return sums + reinterpret_cast<HalfSums>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

}  // namespace

GroupwiseLinearFunctions groupwise_linear_avx2() {
  return linear::groupwise_functions<Avx2Vectors>();
}

}  // namespace polystate
