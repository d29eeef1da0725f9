#pragma once

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns of its own header below.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>  // IWYU pragma: export

#include <cstdint>

#include "kernels/vectors/half.h"

namespace polystate::vectors {

// Sixteen floats.
template <typename Local>
struct Avx512Floats {
  Avx512Floats() = delete;

  using Vector = __m512;
  static constexpr std::int64_t kWidth = 16;

  static __mmask16 first_lanes(std::int64_t count) {
    return static_cast<__mmask16>((1U << static_cast<unsigned>(count)) - 1U);
  }

  static __m512 set(float x) { return _mm512_set1_ps(x); }
  static __m512 load(const float* from) { return _mm512_loadu_ps(from); }
  static __m512 load_some(const float* from, std::int64_t count) {
    return _mm512_maskz_loadu_ps(first_lanes(count), from);
  }
  static __m512 load(const Half* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static __m512 load_some(const Half* from, std::int64_t count) {
    return _mm512_cvtph_ps(
        _mm512_castsi512_si256(_mm512_maskz_loadu_epi16(first_lanes(count), from)));
  }
  static void store(float* to, __m512 x) { _mm512_storeu_ps(to, x); }
  static void store_some(float* to, __m512 x, std::int64_t count) {
    _mm512_mask_storeu_ps(to, first_lanes(count), x);
  }
  static void store(Half* to, __m512 x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), halves(x));
  }
  static void store_some(Half* to, __m512 x, std::int64_t count) {
    _mm512_mask_storeu_epi16(to, first_lanes(count), _mm512_castsi256_si512(halves(x)));
  }
  static __m256i halves(__m512 x) { return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT); }
  static __m512 multiply(__m512 x, __m512 y) { return _mm512_mul_ps(x, y); }
  static __m512 multiply_add(__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }
  static __m512 max(__m512 x, __m512 y) { return _mm512_max_ps(x, y); }
  static __m512 min(__m512 x, __m512 y) { return _mm512_min_ps(x, y); }
  static __m512 add(__m512 x, __m512 y) { return _mm512_add_ps(x, y); }
  static __m512 subtract(__m512 x, __m512 y) { return _mm512_sub_ps(x, y); }
  static __m512 divide(__m512 x, __m512 y) { return _mm512_div_ps(x, y); }
  static __m512 round(__m512 x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT); }
  static __m512 select_less(__m512 x, __m512 y, __m512 less, __m512 otherwise) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, y, _CMP_LT_OQ), otherwise, less);
  }
  static __m512 times_power_of_two(__m512 x, __m512 power) { return _mm512_scalef_ps(x, power); }
  static float first(__m512 x) { return _mm512_cvtss_f32(x); }
  static float largest(__m512 x) { return _mm512_reduce_max_ps(x); }
  static float smallest(__m512 x) { return _mm512_reduce_min_ps(x); }
  static float sum(__m512 x) { return _mm512_reduce_add_ps(x); }
};

}  // namespace polystate::vectors
