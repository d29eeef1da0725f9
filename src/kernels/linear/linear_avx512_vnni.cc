#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 warns of its own header below.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <cstdint>

#include "kernels/linear/linear_functions.h"
#include "kernels/linear/linear_loops.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/packed_weights.h"

namespace polystate {
namespace {

struct Avx512VnniVectors {
  static constexpr std::int64_t kWidth = 16;
  static constexpr int kRows = 4;
  static constexpr int kTiles = 4;

  static __m512 set(float x) { return _mm512_set1_ps(x); }
  static __m512 load(const float* from) { return _mm512_loadu_ps(from); }
  static __m512 min(__m512 x, __m512 y) { return _mm512_min_ps(x, y); }
  static __m512 max(__m512 x, __m512 y) { return _mm512_max_ps(x, y); }
  static __m512 multiply(__m512 x, __m512 y) { return _mm512_mul_ps(x, y); }
  static __m512 multiply_add(__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }
  static float smallest(__m512 x) { return _mm512_reduce_min_ps(x); }
  static float largest(__m512 x) { return _mm512_reduce_max_ps(x); }
  static float sum(__m512 x) { return _mm512_reduce_add_ps(x); }
  static float nearest(float x) { return __builtin_nearbyintf(x); }
  static void store_bytes(std::uint8_t* to, __m512 x, std::int32_t zero) {
    const __m512i value = _mm512_add_epi32(_mm512_cvtps_epi32(x), _mm512_set1_epi32(zero));
    const __m512i positive = _mm512_max_epi32(value, _mm512_setzero_si512());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtusepi32_epi8(positive));
  }

  using Sums = __m512i;
  using Values = __m512i;

  static Sums no_sums() { return _mm512_setzero_si512(); }
  static Values broadcast(const std::uint8_t* from) {
    std::int32_t four = 0;
    __builtin_memcpy(&four, from, sizeof(four));
    return _mm512_set1_epi32(four);
  }
  static __m512i load_weights(const std::int8_t* from) { return _mm512_loadu_si512(from); }
  static Sums add_products(Sums sums, Values x, __m512i w) {
    return _mm512_dpbusd_epi32(sums, x, w);
  }
  static void finish(Sums sums, RowScale scale, const TileColumns& columns, float* out) {
    const auto& [weights, column, count] = columns;
    const auto lanes = static_cast<__mmask16>((1U << static_cast<unsigned>(count)) - 1U);
    const __m512i of_columns = _mm512_maskz_loadu_epi32(lanes, weights.sums + column);
    const __m512i product =
        _mm512_sub_epi32(sums, _mm512_mullo_epi32(of_columns, _mm512_set1_epi32(scale.zero)));
    const __m512 scales = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, weights.scales + column),
                                        _mm512_set1_ps(scale.scale));
    const __m512 bias = weights.bias == nullptr
                            ? _mm512_setzero_ps()
                            : _mm512_maskz_loadu_ps(lanes, weights.bias + column);
    _mm512_mask_storeu_ps(out, lanes, _mm512_fmadd_ps(_mm512_cvtepi32_ps(product), scales, bias));
  }
};

}  // namespace

LinearFunctions linear_avx512_vnni() { return linear::functions<Avx512VnniVectors>(); }

}  // namespace polystate
