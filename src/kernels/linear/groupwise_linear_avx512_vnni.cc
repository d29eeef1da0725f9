#include <cstdint>

#include "kernels/linear/groupwise_loops.h"
#include "kernels/linear/linear_functions.h"
#include "kernels/linear/multiply.h"
#include "kernels/linear/multiply_loops.h"
#include "kernels/vectors/avx512_floats.h"

namespace polystate {
namespace {

// The machine multiplies unsigned by signed bytes: weights are greater by 128.
struct Avx512VnniVectors : vectors::Avx512Floats<Avx512VnniVectors> {
  static constexpr linear::BlockSize kFewRows = {.rows = 2, .tiles = 4};
  static constexpr linear::BlockSize kManyRows = {.rows = 6, .tiles = 2};
  static constexpr std::int32_t kOffset = 128;

  using Product = GroupwiseProduct;
  using Columns = linear::GroupwiseColumns<Avx512VnniVectors>;
  using Sums = linear::GroupwiseSums<Avx512VnniVectors>;

  static void store_bytes(std::int8_t* to, __m512 x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
  }

  // Not __m512i, whose elements are of 64 bits: around each conversion GCC 12 copies the sums.
  using GroupSums = std::int32_t __attribute__((vector_size(64)));
  using Weights = __m512i;

  static GroupSums first_group_sums(std::int32_t start) { return start - GroupSums{}; }
  static __m512i broadcast(const std::int8_t* from) {
    std::int32_t four = 0;
    __builtin_memcpy(&four, from, sizeof(four));
    return _mm512_set1_epi32(four);
  }
  static Weights load_weights(const std::int8_t* from) {
    return _mm512_xor_si512(_mm512_loadu_si512(from), _mm512_set1_epi8(-128));
  }
  static GroupSums add_products(GroupSums sums, __m512i x, __m512i w) {
    return reinterpret_cast<GroupSums>(_mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sums), w, x));
  }
  static __m512 floats_of(GroupSums sums, int /*part*/) {
    return _mm512_cvtepi32_ps(reinterpret_cast<__m512i>(sums));
  }
  static __m512 result(const Sums& sums, int part, const GroupwiseRows& /*rows*/,
                       std::int64_t /*row*/, const Columns& columns) {
    return linear::groupwise_result(sums, part, columns);
  }
};

}  // namespace

GroupwiseLinearFunctions groupwise_linear_avx512_vnni() {
  return linear::groupwise_functions<Avx512VnniVectors>();
}

}  // namespace polystate
