#pragma once

#include <cstdint>

#include "kernels/linear/multiply.h"
#include "kernels/linear/quantized_loops.h"
#include "kernels/vectors/avx2_floats.h"

namespace polystate::linear {

// What the loops over vectors of 256 bits share: a tile's columns are two vectors. Values are
// unsigned, or less by kOffset, 128, and signed. `Local` has `first_sums`, `broadcast` and
// `add_half`, the products of one vector.
template <typename Local, std::int32_t kOffset>
struct Avx2Tiles : vectors::Avx2Floats<Local> {
  Avx2Tiles() = delete;

  using Floats = vectors::Avx2Floats<Local>;

  using Product = QuantizedProduct;
  using Columns = QuantizedColumns<Local>;

  static float nearest(float x) { return __builtin_nearbyintf(x); }

  // Not __m256i, whose elements are of 64 bits: around each conversion GCC 12 copies the sums.
  using HalfSums = std::int32_t __attribute__((vector_size(32)));
  // Copied half by half: GCC 12 keeps in memory what it copies as a whole.
  struct Sums {
    explicit Sums(HalfSums first) : low(first), high(first) {}
    Sums(HalfSums low_half, HalfSums high_half) : low(low_half), high(high_half) {}
    Sums() = default;
    Sums(const Sums& other) : low(other.low), high(other.high) {}
    Sums& operator=(const Sums& other) {
      low = other.low;
      high = other.high;
      return *this;
    }
    ~Sums() = default;

    HalfSums low;  // of columns 0 to 7
    HalfSums high;
  };
  struct Weights {
    __m256i low;
    __m256i high;
  };

  static __m256i broadcast_four(const std::uint8_t* from) {
    std::int32_t four = 0;
    __builtin_memcpy(&four, from, sizeof(four));
    return _mm256_set1_epi32(four);
  }
  static Weights load_weights(const std::int8_t* from) {
    const auto* const vectors = reinterpret_cast<const __m256i*>(from);
    return {_mm256_loadu_si256(vectors), _mm256_loadu_si256(vectors + 1)};
  }
  template <typename Values>
  static Sums add_products(const Sums& sums, Values x, Weights w) {
    return {Local::add_half(sums.low, x, w.low), Local::add_half(sums.high, x, w.high)};
  }

  using Integers = __m256i;
  static Integers load_sums(const std::int32_t* from, std::int64_t count) {
    return _mm256_maskload_epi32(from, Floats::first_lanes(count));
  }
  static __m256 result(const Sums& sums, int part, const QuantizedRows& rows, std::int64_t row,
                       const Columns& columns) {
    const RowScale scale = rows.scales[row];
    const HalfSums half = part == 0 ? sums.low : sums.high;
    const __m256i zeros = _mm256_mullo_epi32(columns.sums, _mm256_set1_epi32(scale.zero - kOffset));
    const __m256i product = _mm256_sub_epi32(reinterpret_cast<__m256i>(half), zeros);
    return Floats::multiply_add(_mm256_cvtepi32_ps(product),
                                Floats::multiply(columns.scales, Floats::set(scale.scale)),
                                columns.bias);
  }
};

}  // namespace polystate::linear
