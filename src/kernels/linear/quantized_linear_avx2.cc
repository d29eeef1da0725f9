#include <cstddef>
#include <cstdint>

#include "kernels/linear/avx2_tiles.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/linear/packed_weights.h"
#include "kernels/linear/quantized_loops.h"

namespace polystate {
namespace {

// The machine multiplies unsigned by signed bytes and adds pairs of products in 16 bits, where 255
// x 127 twice does not fit. So values are less by 128, and a group holds their magnitudes, then
// their signs, each 0 or -1. The signs move to the weights. Of these the complement, -w - 1, is
// found faster than -w: a negative value x then leaves out |x|, whatever the weight is, and sums
// start from what is left out. -128 x 128 twice, the most that occurs, fits.
struct Avx2Vectors : linear::Avx2Tiles<Avx2Vectors, 128> {
  static constexpr linear::BlockSize kFewRows = {.rows = 4, .tiles = 1};
  static constexpr linear::BlockSize kManyRows = {.rows = 3, .tiles = 2};

  static constexpr std::int64_t kValueBytes = 2;
  static constexpr std::int64_t kGroupBytes = kValueBytes * QuantizedWeights::kTileDepth;

  struct Values {
    __m256i magnitudes;
    __m256i signs;
  };

  static Sums first_sums(const QuantizedRows& rows, std::int64_t row) {
    return Sums(rows.scales[row].excluded - HalfSums{});
  }
  static Values broadcast(const std::uint8_t* row, std::int64_t group) {
    const std::uint8_t* const from = row + group * kGroupBytes;
    return {broadcast_four(from), broadcast_four(from + QuantizedWeights::kTileDepth)};
  }
  static HalfSums add_half(HalfSums sums, Values x, __m256i w) {
    const __m256i pairs = _mm256_maddubs_epi16(x.magnitudes, _mm256_xor_si256(w, x.signs));
    return sums + reinterpret_cast<HalfSums>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

// Values that are rounded together, and the bytes that they become.
constexpr std::int64_t kTogether = 32;
constexpr std::int64_t kBytesTogether = kTogether * Avx2Vectors::kValueBytes;

// Four groups of two vectors lie in the order 0 2 1 3 behind instructions that keep to their half
// of a vector.
__m256i in_order(__m256i groups) { return _mm256_permute4x64_epi64(groups, 0b11'01'10'00); }

// Rounds kTogether values, and gives the sums of the negative ones' magnitudes.
__m256i round_values(const float* from, const linear::Rounding& rounding, std::uint8_t* to) {
  __m256i values[4];
  for (std::int64_t i = 0; i < 4; ++i) {
    const __m256 x =
        _mm256_mul_ps(_mm256_loadu_ps(from + 8 * i), Avx2Vectors::set(rounding.inverse));
    values[i] = _mm256_add_epi32(_mm256_cvtps_epi32(x), _mm256_set1_epi32(rounding.scale.zero));
  }
  const __m256i words[] = {_mm256_packs_epi32(values[0], values[1]),
                           _mm256_packs_epi32(values[2], values[3])};
  const __m256i bytes =
      _mm256_xor_si256(_mm256_packus_epi16(words[0], words[1]), _mm256_set1_epi8(-128));
  const __m256i magnitudes = _mm256_abs_epi8(bytes);
  const __m256i signs = _mm256_cmpgt_epi8(_mm256_setzero_si256(), bytes);
  auto* const out = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(out, in_order(_mm256_unpacklo_epi32(magnitudes, signs)));
  _mm256_storeu_si256(out + 1, in_order(_mm256_unpackhi_epi32(magnitudes, signs)));
  return _mm256_sad_epu8(_mm256_and_si256(magnitudes, signs), _mm256_setzero_si256());
}

// Rounds the last values, fewer than kTogether, in whole groups, as round_values.
std::int32_t round_last(const float* from, std::int64_t count, const linear::Rounding& rounding,
                        std::uint8_t* to) {
  float values[kTogether] = {};
  std::uint8_t bytes[kBytesTogether];
  __builtin_memcpy(values, from, static_cast<std::size_t>(count) * sizeof(float));
  round_values(values, rounding, bytes);
  const std::int64_t size = QuantizedWeights::groups(count) * Avx2Vectors::kGroupBytes;
  __builtin_memcpy(to, bytes, static_cast<std::size_t>(size));
  std::int32_t excluded = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const bool is_magnitude = i % Avx2Vectors::kGroupBytes < QuantizedWeights::kTileDepth;
    if (is_magnitude && bytes[i + QuantizedWeights::kTileDepth] != 0) excluded += bytes[i];
  }
  return excluded;
}

RowScale quantize(const float* row, std::int64_t depth, std::uint8_t* values) {
  const linear::Rounding rounding = linear::rounding_of<Avx2Vectors>(row, depth);
  RowScale scale = rounding.scale;
  __m256i excluded = _mm256_setzero_si256();
  std::int64_t i = 0;
  for (; i + kTogether <= depth; i += kTogether) {
    std::uint8_t* const to = values + i * Avx2Vectors::kValueBytes;
    excluded = _mm256_add_epi64(excluded, round_values(row + i, rounding, to));
  }
  const __m128i halves =
      _mm_add_epi64(_mm256_castsi256_si128(excluded), _mm256_extracti128_si256(excluded, 1));
  scale.excluded = _mm_cvtsi128_si32(_mm_add_epi64(halves, _mm_unpackhi_epi64(halves, halves)));
  if (i < depth) {
    scale.excluded +=
        round_last(row + i, depth - i, rounding, values + i * Avx2Vectors::kValueBytes);
  }
  return scale;
}

}  // namespace

QuantizedLinearFunctions quantized_linear_avx2() {
  return {.value_bytes = Avx2Vectors::kValueBytes,
          .quantize = &quantize,
          .multiply = &linear::multiply<Avx2Vectors>};
}

}  // namespace polystate
