#include "engine/executorch/aten/conversions.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/compiled_for.h"
#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elements.h"
#include "polystate/core/dtype.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace polystate {
namespace {

template <typename From, typename To>
void convert_each(const From* from, std::int64_t count, To* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<To>(from[i]);  // NOLINT(bugprone-signed-char-misuse): a number
  }
}

// x86-64 has instructions that convert halves, which compilers do not use in loops. A processor
// with AVX2 counts as one only if it has them (core/instruction_set.cc).
struct Widening {
  static constexpr auto kScalar = &convert_each<Float16, float>;
#if defined(__x86_64__)
  [[gnu::target("avx2,f16c")]] static void avx2(const Float16* from, std::int64_t count,
                                                float* to) {
    constexpr std::int64_t kLanes = 8;
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
      _mm256_storeu_ps(to + i, _mm256_cvtph_ps(halves));
    }
    convert_each(from + i, count - i, to + i);
  }
  static constexpr auto kAvx2 = &avx2;
#endif
};

struct Narrowing {
  static constexpr auto kScalar = &convert_each<float, Float16>;
#if defined(__x86_64__)
  [[gnu::target("avx2,f16c")]] static void avx2(const float* from, std::int64_t count,
                                                Float16* to) {
    constexpr std::int64_t kLanes = 8;
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      const __m128i halves =
          _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), halves);
    }
    convert_each(from + i, count - i, to + i);
  }
  static constexpr auto kAvx2 = &avx2;
#endif
};

template <typename From, typename To>
void convert(const From* from, std::int64_t count, To* to) {
  const InstructionSet set = best_instruction_set();
  if constexpr (std::is_same_v<From, Float16> && std::is_same_v<To, float>) {
    compiled_for<Widening>(set)(from, count, to);
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Float16>) {
    compiled_for<Narrowing>(set)(from, count, to);
  } else {
    vectorised<&convert_each<From, To>>(set)(from, count, to);
  }
}

// The compiler vectorises loops that read bytes, but not those that read bools.
template <typename T>
using Read = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <typename From, typename To>
void convert_elements(const std::byte* elements, std::int64_t count, To* to) {
  convert(reinterpret_cast<const Read<From>*>(elements), count, to);
}

template <typename From, typename To>
void convert_to_elements(const From* from, std::int64_t count, std::byte* elements) {
  convert(from, count, reinterpret_cast<To*>(elements));
}

}  // namespace

template <typename Number>
ConversionFrom<Number> conversion_from(DType dtype) {
  return with_element_type(dtype, []<typename From>() -> ConversionFrom<Number> {
    constexpr bool kIsWanted =
        std::is_floating_point_v<Number> || !kIsFloat<From> || std::is_same_v<Number, std::int64_t>;
    if constexpr (!std::is_same_v<Read<From>, Number> && kIsWanted) {
      return &convert_elements<From, Number>;
    } else {
      assert(kIsWanted);
      return nullptr;
    }
  });
}

template <typename Number>
ConversionTo<Number> conversion_to(DType dtype) {
  return with_element_type(dtype, []<typename To>() -> ConversionTo<Number> {
    constexpr bool kIsWanted = kIsFloat<To> == std::is_floating_point_v<Number>;
    if constexpr (!std::is_same_v<To, Number> && kIsWanted) {
      return &convert_to_elements<Number, To>;
    } else {
      assert(kIsWanted);
      return nullptr;
    }
  });
}

template ConversionFrom<float> conversion_from(DType dtype);
template ConversionFrom<double> conversion_from(DType dtype);
template ConversionFrom<std::int64_t> conversion_from(DType dtype);
template ConversionFrom<std::int32_t> conversion_from(DType dtype);
template ConversionFrom<std::uint8_t> conversion_from(DType dtype);
template ConversionTo<float> conversion_to(DType dtype);
template ConversionTo<double> conversion_to(DType dtype);
template ConversionTo<std::int64_t> conversion_to(DType dtype);
template ConversionTo<std::int32_t> conversion_to(DType dtype);

}  // namespace polystate
