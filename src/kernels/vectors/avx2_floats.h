#pragma once

#include <immintrin.h>  // IWYU pragma: export

#include <cstdint>

#include "kernels/vectors/half.h"

namespace polystate::vectors {

// Eight floats, with FMA and F16C.
template <typename Local>
struct Avx2Floats {
  Avx2Floats() = delete;

  using Vector = __m256;
  static constexpr std::int64_t kWidth = 8;

  // All bits of each of the first `count` lanes.
  static __m256i first_lanes(std::int64_t count) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
  }

  static __m256 set(float x) { return _mm256_set1_ps(x); }
  static __m256 load(const float* from) { return _mm256_loadu_ps(from); }
  static __m256 load_some(const float* from, std::int64_t count) {
    return _mm256_maskload_ps(from, first_lanes(count));
  }
  static __m256 load(const Half* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static __m256 load_some(const Half* from, std::int64_t count) {
    Half lanes[kWidth] = {};
    for (std::int64_t i = 0; i < count; ++i) lanes[i] = from[i];
    return load(lanes);
  }
  static void store(float* to, __m256 x) { _mm256_storeu_ps(to, x); }
  static void store_some(float* to, __m256 x, std::int64_t count) {
    _mm256_maskstore_ps(to, first_lanes(count), x);
  }
  static void store(Half* to, __m256 x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static void store_some(Half* to, __m256 x, std::int64_t count) {
    Half lanes[kWidth];
    store(lanes, x);
    for (std::int64_t i = 0; i < count; ++i) to[i] = lanes[i];
  }
  static __m256 multiply(__m256 x, __m256 y) { return _mm256_mul_ps(x, y); }
  static __m256 multiply_add(__m256 x, __m256 y, __m256 z) { return _mm256_fmadd_ps(x, y, z); }
  static __m256 max(__m256 x, __m256 y) { return _mm256_max_ps(x, y); }
  static __m256 min(__m256 x, __m256 y) { return _mm256_min_ps(x, y); }
  static __m256 add(__m256 x, __m256 y) { return _mm256_add_ps(x, y); }
  static __m256 subtract(__m256 x, __m256 y) { return _mm256_sub_ps(x, y); }
  static __m256 divide(__m256 x, __m256 y) { return _mm256_div_ps(x, y); }
  static __m256 round(__m256 x) {
    return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static __m256 select_less(__m256 x, __m256 y, __m256 less, __m256 otherwise) {
    return _mm256_blendv_ps(otherwise, less, _mm256_cmp_ps(x, y, _CMP_LT_OQ));
  }
  static __m256 times_power_of_two(__m256 x, __m256 power) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(power), _mm256_set1_epi32(127));
    return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
  }
  static float first(__m256 x) { return _mm256_cvtss_f32(x); }
  static float largest(__m256 x) {
    __m128 rest = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    rest = _mm_max_ps(rest, _mm_movehl_ps(rest, rest));
    return _mm_cvtss_f32(_mm_max_ss(rest, _mm_shuffle_ps(rest, rest, 1)));
  }
  static float smallest(__m256 x) {
    __m128 rest = _mm_min_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    rest = _mm_min_ps(rest, _mm_movehl_ps(rest, rest));
    return _mm_cvtss_f32(_mm_min_ss(rest, _mm_shuffle_ps(rest, rest, 1)));
  }
  static float sum(__m256 x) {
    __m128 rest = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    rest = _mm_add_ps(rest, _mm_movehl_ps(rest, rest));
    return _mm_cvtss_f32(_mm_add_ss(rest, _mm_shuffle_ps(rest, rest, 1)));
  }
};

}  // namespace polystate::vectors
