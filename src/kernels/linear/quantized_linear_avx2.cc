#include "kernels/linear/avx2_tiles.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/quantized_loops.h"

namespace polystate {
namespace {

// The machine multiplies unsigned by signed bytes and adds pairs of products in 16 bits, where 255
// x 127 twice does not fit. So values are less by 128, and their sign moves to the weights: 128 x
// 127 twice fits.
struct Avx2Vectors : linear::Avx2Tiles<Avx2Vectors, 128> {
  static constexpr linear::BlockSize kFewRows = {.rows = 4, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = kFewRows;

  static Half add_half(Half sums, __m256i x, __m256i w) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(w, x));
    return sums + reinterpret_cast<Half>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

}  // namespace

QuantizedLinearFunctions quantized_linear_avx2() {
  return linear::quantized_functions<Avx2Vectors>();
}

}  // namespace polystate
