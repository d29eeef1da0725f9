#include "engine/executorch/aten/halves.h"

#include <cstdint>

#include "core/compiled_for.h"
#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elements.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace polystate {
namespace {

template <typename From, typename To>
void convert(const From* from, std::int64_t count, To* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
}

// x86-64 has instructions for halves, of which compilers do not think in loops. What has AVX2 has
// these (core/instruction_set.cc).
struct Widening {
  static constexpr auto kScalar = &convert<Half, float>;
#if defined(__x86_64__)
  [[gnu::target("avx2,f16c")]] static void avx2(const Half* from, std::int64_t count, float* to) {
    constexpr std::int64_t kLanes = 8;
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
    for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
  }
  static constexpr auto kAvx2 = &avx2;
#endif
};

struct Narrowing {
  static constexpr auto kScalar = &convert<float, Half>;
#if defined(__x86_64__)
  [[gnu::target("avx2,f16c")]] static void avx2(const float* from, std::int64_t count, Half* to) {
    constexpr std::int64_t kLanes = 8;
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const __m128i halves =
          _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
    }
    for (; i < count; ++i) to[i] = static_cast<Half>(from[i]);
  }
  static constexpr auto kAvx2 = &avx2;
#endif
};

}  // namespace

void widen(const Half* from, std::int64_t count, float* to) {
  const auto loop = compiled_for<Widening>(best_instruction_set());
  loop(from, count, to);
}

void widen(const BFloat16* from, std::int64_t count, float* to) {
  const auto loop = vectorised<&convert<BFloat16, float>>(best_instruction_set());
  loop(from, count, to);
}

void narrow(const float* from, std::int64_t count, Half* to) {
  const auto loop = compiled_for<Narrowing>(best_instruction_set());
  loop(from, count, to);
}

void narrow(const float* from, std::int64_t count, BFloat16* to) {
  const auto loop = vectorised<&convert<float, BFloat16>>(best_instruction_set());
  loop(from, count, to);
}

}  // namespace polystate
