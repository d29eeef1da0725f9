#include <cstdint>

#include "kernels/linear/avx2_tiles.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/linear/quantized_loops.h"

namespace polystate {
namespace {

struct AvxVnniVectors : linear::Avx2Tiles<AvxVnniVectors, 0> {
  static constexpr linear::BlockSize kFewRows = {.rows = 4, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = {.rows = 6, .tiles = 1};

  static constexpr std::uint8_t kFlipped = 0;

  static void store_bytes(std::uint8_t* to, __m256 x, std::int32_t zero) {
    const __m256i value = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(zero));
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(value), _mm256_extracti128_si256(value, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
  }

  static Sums first_sums(const QuantizedRows& /*rows*/, std::int64_t /*row*/) {
    return Sums(HalfSums{});
  }
  static __m256i broadcast(const std::uint8_t* row, std::int64_t group) {
    return broadcast_four(row + group * QuantizedWeights::kTileDepth);
  }
  static HalfSums add_half(HalfSums sums, __m256i x, __m256i w) {
    return reinterpret_cast<HalfSums>(
        _mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sums), x, w));
  }
};

}  // namespace

QuantizedLinearFunctions quantized_linear_avx_vnni() {
  return linear::quantized_functions<AvxVnniVectors>();
}

}  // namespace polystate
