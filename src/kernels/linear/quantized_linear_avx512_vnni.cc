#include <cstdint>

#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/linear/quantized_loops.h"
#include "kernels/vectors/avx512_floats.h"

namespace polystate {
namespace {

struct Avx512VnniVectors : vectors::Avx512Floats<Avx512VnniVectors> {
  static constexpr linear::BlockSize kFewRows = {.rows = 6, .tiles = 4};
  static constexpr linear::BlockSize kManyRows = {.rows = 6, .tiles = 2};

  using Product = QuantizedProduct;
  using Columns = linear::QuantizedColumns<Avx512VnniVectors>;

  static constexpr std::uint8_t kFlipped = 0;

  static float nearest(float x) { return __builtin_nearbyintf(x); }
  static void store_bytes(std::uint8_t* to, __m512 x, std::int32_t zero) {
    const __m512i value = _mm512_add_epi32(_mm512_cvtps_epi32(x), _mm512_set1_epi32(zero));
    const __m512i positive = _mm512_max_epi32(value, _mm512_setzero_si512());
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtusepi32_epi8(positive));
  }

  // Not __m512i, whose elements are of 64 bits: around each conversion GCC 12 copies the sums.
  using Sums = std::int32_t __attribute__((vector_size(64)));
  using Values = __m512i;

  static Sums first_sums(const QuantizedRows& /*rows*/, std::int64_t /*row*/) { return Sums{}; }
  static Values broadcast(const std::uint8_t* row, std::int64_t group) {
    std::int32_t four = 0;
    __builtin_memcpy(&four, row + group * QuantizedWeights::kTileDepth, sizeof(four));
    return _mm512_set1_epi32(four);
  }
  using Weights = __m512i;
  static Weights load_weights(const std::int8_t* from) { return _mm512_loadu_si512(from); }
  static Sums add_products(Sums sums, Values x, __m512i w) {
    return reinterpret_cast<Sums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), x, w));
  }

  using Integers = __m512i;
  static Integers load_sums(const std::int32_t* from, std::int64_t count) {
    return _mm512_maskz_loadu_epi32(first_lanes(count), from);
  }
  static __m512 result(Sums sums, int /*part*/, const QuantizedRows& rows, std::int64_t row,
                       const Columns& columns) {
    const RowScale scale = rows.scales[row];
    const __m512i zeros = _mm512_mullo_epi32(columns.sums, _mm512_set1_epi32(scale.zero));
    const __m512i product = _mm512_sub_epi32(reinterpret_cast<__m512i>(sums), zeros);
    return multiply_add(_mm512_cvtepi32_ps(product), multiply(columns.scales, set(scale.scale)),
                        columns.bias);
  }
};

}  // namespace

QuantizedLinearFunctions quantized_linear_avx512_vnni() {
  return linear::quantized_functions<Avx512VnniVectors>();
}

}  // namespace polystate
