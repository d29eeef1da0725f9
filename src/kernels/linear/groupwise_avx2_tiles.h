#pragma once

#include <cstdint>

#include "kernels/linear/groupwise_loops.h"
#include "kernels/linear/multiply.h"
#include "kernels/vectors/avx2_floats.h"

namespace polystate::linear {

// What the loops over vectors of 256 bits share, as Avx2Tiles. `Local` has `broadcast` and
// `add_half`, the products of one vector.
template <typename Local>
struct GroupwiseAvx2Tiles : vectors::Avx2Floats<Local> {
  GroupwiseAvx2Tiles() = delete;

  using Product = GroupwiseProduct;
  using Columns = GroupwiseColumns<Local>;
  using Sums = GroupwiseSums<Local>;

  static void store_bytes(std::int8_t* to, __m256 x) {
    const __m256i values = _mm256_cvtps_epi32(x);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(values), _mm256_extracti128_si256(values, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words, words));
  }

  // Not __m256i, whose elements are of 64 bits: around each conversion GCC 12 copies the sums.
  using HalfSums = std::int32_t __attribute__((vector_size(32)));
  struct GroupSums {
    HalfSums low;  // of columns 0 to 7
    HalfSums high;
  };
  struct Weights {
    __m256i low;
    __m256i high;
  };

  static GroupSums first_group_sums(std::int32_t start) {
    return {start - HalfSums{}, start - HalfSums{}};
  }
  static __m256i broadcast_four(const std::int8_t* from) {
    std::int32_t four = 0;
    __builtin_memcpy(&four, from, sizeof(four));
    return _mm256_set1_epi32(four);
  }
  static Weights load_weights(const std::int8_t* from) {
    const auto* const vectors = reinterpret_cast<const __m256i*>(from);
    const __m256i offset = _mm256_set1_epi8(static_cast<char>(Local::kOffset));
    return {_mm256_xor_si256(_mm256_loadu_si256(vectors), offset),
            _mm256_xor_si256(_mm256_loadu_si256(vectors + 1), offset)};
  }
  template <typename Values>
  static GroupSums add_products(const GroupSums& sums, Values x, Weights w) {
    return {Local::add_half(sums.low, x, w.low), Local::add_half(sums.high, x, w.high)};
  }
  static __m256 floats_of(const GroupSums& sums, int part) {
    return _mm256_cvtepi32_ps(reinterpret_cast<__m256i>(part == 0 ? sums.low : sums.high));
  }
  static __m256 result(const Sums& sums, int part, const GroupwiseRows& /*rows*/,
                       std::int64_t /*row*/, const Columns& columns) {
    return groupwise_result(sums, part, columns);
  }
};

}  // namespace polystate::linear
