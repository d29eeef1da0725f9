#include <immintrin.h>

#include <cstdint>

#include "kernels/linear/linear_functions.h"
#include "kernels/linear/linear_loops.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"

namespace polystate {
namespace {

// The machine multiplies unsigned by signed bytes and adds pairs of products in 16 bits, where 255
// x 127 twice does not fit. So values are taken less 128, and their sign moves to the weights: 128
// x 127 twice fits.
struct Avx2Vectors {
  static constexpr std::int64_t kWidth = 8;
  static constexpr int kRows = 3;
  static constexpr int kTiles = 1;

  static __m256 set(float x) { return _mm256_set1_ps(x); }
  static __m256 load(const float* from) { return _mm256_loadu_ps(from); }
  static __m256 min(__m256 x, __m256 y) { return _mm256_min_ps(x, y); }
  static __m256 max(__m256 x, __m256 y) { return _mm256_max_ps(x, y); }
  static __m256 multiply(__m256 x, __m256 y) { return _mm256_mul_ps(x, y); }
  static __m256 multiply_add(__m256 x, __m256 y, __m256 z) { return _mm256_fmadd_ps(x, y, z); }
  static float smallest(__m256 x) {
    alignas(32) float lanes[kWidth];
    _mm256_store_ps(lanes, x);
    float found = lanes[0];
    for (const float lane : lanes) found = lane < found ? lane : found;
    return found;
  }
  static float largest(__m256 x) {
    alignas(32) float lanes[kWidth];
    _mm256_store_ps(lanes, x);
    float found = lanes[0];
    for (const float lane : lanes) found = lane > found ? lane : found;
    return found;
  }
  static float sum(__m256 x) {
    alignas(32) float lanes[kWidth];
    _mm256_store_ps(lanes, x);
    float found = 0;
    for (const float lane : lanes) found += lane;
    return found;
  }
  static float nearest(float x) { return __builtin_nearbyintf(x); }
  static void store_bytes(std::uint8_t* to, __m256 x, std::int32_t zero) {
    const __m256i value = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(zero));
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
  }

  struct Sums {
    __m256i low;  // of columns 0 to 7
    __m256i high;
  };
  using Values = __m256i;  // signed
  struct Weights {
    __m256i low;
    __m256i high;
  };

  static Sums no_sums() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Values broadcast(const std::uint8_t* from) {
    std::uint32_t four = 0;
    __builtin_memcpy(&four, from, sizeof(four));
    return _mm256_set1_epi32(static_cast<std::int32_t>(four ^ 0x80808080U));
  }
  static Weights load_weights(const std::int8_t* from) {
    const auto* const vectors = reinterpret_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(vectors), _mm256_loadu_si256(vectors + 1)};
  }
  static Sums add_products(Sums sums, Values x, Weights w) {
    const __m256i size = _mm256_abs_epi8(x);
    return {add(sums.low, size, _mm256_sign_epi8(w.low, x)),
            add(sums.high, size, _mm256_sign_epi8(w.high, x))};
  }
  static __m256i add(__m256i sums, __m256i x, __m256i w) {
    const __m256i pairs = _mm256_maddubs_epi16(x, w);
    return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static void finish(const Sums& sums, RowScale scale, const TileColumns& columns, float* out) {
    const auto& [weights, column, count] = columns;
    finish_half(sums.low, scale, columns, out);
    finish_half(sums.high, scale, {weights, column + kWidth, count - kWidth}, out + kWidth);
  }
  static void finish_half(__m256i sums, RowScale scale, const TileColumns& columns, float* out) {
    const auto& [weights, column, count] = columns;
    if (count <= 0) return;
    const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const auto most = static_cast<std::int32_t>(count < kWidth ? count : kWidth);
    const __m256i lanes = _mm256_cmpgt_epi32(_mm256_set1_epi32(most), numbers);
    const __m256i of_columns = _mm256_maskload_epi32(weights.sums + column, lanes);
    const __m256i product =
        _mm256_sub_epi32(sums, _mm256_mullo_epi32(of_columns, _mm256_set1_epi32(scale.zero - 128)));
    const __m256 scales = _mm256_mul_ps(_mm256_maskload_ps(weights.scales + column, lanes),
                                        _mm256_set1_ps(scale.scale));
    const __m256 bias = weights.bias == nullptr ? _mm256_setzero_ps()
                                                : _mm256_maskload_ps(weights.bias + column, lanes);
    _mm256_maskstore_ps(out, lanes, _mm256_fmadd_ps(_mm256_cvtepi32_ps(product), scales, bias));
  }
};

}  // namespace

LinearFunctions linear_avx2() { return linear::functions<Avx2Vectors>(); }

}  // namespace polystate
