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
    const std::int32_t first = rows.scales[row].excluded;
    return {first - Half{}, first - Half{}};
  }
  static Values broadcast(const std::uint8_t* row, std::int64_t group) {
    const std::uint8_t* const from = row + group * kGroupBytes;
    return {broadcast_four(from), broadcast_four(from + QuantizedWeights::kTileDepth)};
  }
  static Half add_half(Half sums, Values x, __m256i w) {
    const __m256i pairs = _mm256_maddubs_epi16(x.magnitudes, _mm256_xor_si256(w, x.signs));
    return sums + reinterpret_cast<Half>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
};

// Sixteen values, or four and zeros.
struct Split {
  explicit Split(__m128i values)
      : magnitudes(_mm_abs_epi8(values)), signs(_mm_cmpgt_epi8(_mm_setzero_si128(), values)) {}

  // Of the first eight values, and of the last.
  [[nodiscard]] __m128i first_groups() const { return _mm_unpacklo_epi32(magnitudes, signs); }
  [[nodiscard]] __m128i last_groups() const { return _mm_unpackhi_epi32(magnitudes, signs); }

  // The sums of the negative values' magnitudes, of the first eight and of the last.
  [[nodiscard]] __m128i excluded() const {
    return _mm_sad_epu8(_mm_and_si128(magnitudes, signs), _mm_setzero_si128());
  }

  __m128i magnitudes;
  __m128i signs;
};

RowScale quantize(const float* row, std::int64_t depth, std::uint8_t* values) {
  constexpr std::int64_t kDepth = QuantizedWeights::kTileDepth;
  constexpr std::int64_t kGroups = 16 / kDepth;  // of a vector of values
  RowScale scale = linear::quantize<Avx2Vectors>(row, depth, values);
  std::int64_t group = QuantizedWeights::groups(depth);
  for (std::int64_t i = depth; i < group * kDepth; ++i) values[i] = 0;
  // From the last to the first, since each becomes twice as long where it lies.
  __m128i excluded = _mm_setzero_si128();
  while (group % kGroups != 0) {
    --group;
    const Split split(_mm_loadu_si32(values + group * kDepth));
    auto* const to = reinterpret_cast<__m128i*>(values + group * Avx2Vectors::kGroupBytes);
    _mm_storel_epi64(to, split.first_groups());
    excluded = _mm_add_epi64(excluded, split.excluded());
  }
  while (group > 0) {
    group -= kGroups;
    const auto* const from = reinterpret_cast<const __m128i*>(values + group * kDepth);
    const Split split(_mm_loadu_si128(from));
    auto* const to = reinterpret_cast<__m128i*>(values + group * Avx2Vectors::kGroupBytes);
    _mm_storeu_si128(to, split.first_groups());
    _mm_storeu_si128(to + 1, split.last_groups());
    excluded = _mm_add_epi64(excluded, split.excluded());
  }
  scale.excluded =
      _mm_cvtsi128_si32(_mm_add_epi64(excluded, _mm_unpackhi_epi64(excluded, excluded)));
  return scale;
}

}  // namespace

QuantizedLinearFunctions quantized_linear_avx2() {
  return {.value_bytes = Avx2Vectors::kValueBytes,
          .quantize = &quantize,
          .multiply = &linear::multiply<Avx2Vectors>};
}

}  // namespace polystate
