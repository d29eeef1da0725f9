#include "engine/executorch/aten/conversions.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/aten/elements.h"
#include "engine/executorch/aten/halves.h"
#include "polystate/core/dtype.h"

namespace polystate {
namespace {

template <typename From, typename To>
void convert_each(const From* from, std::int64_t count, To* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<To>(from[i]);  // NOLINT(bugprone-signed-char-misuse): a number
  }
}

template <typename From, typename To>
void convert(const From* from, std::int64_t count, To* to) {
  if constexpr (kIsHalf<From> && std::is_same_v<To, float>) {
    widen(from, count, to);
  } else if constexpr (std::is_same_v<From, float> && kIsHalf<To>) {
    narrow(from, count, to);
  } else {
    vectorised<&convert_each<From, To>>(best_instruction_set())(from, count, to);
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
    if constexpr (std::is_same_v<Read<From>, Number>) {
      return nullptr;
    } else {
      return &convert_elements<From, Number>;
    }
  });
}

template <typename Number>
ConversionTo<Number> conversion_to(DType dtype) {
  return with_element_type(dtype, []<typename To>() -> ConversionTo<Number> {
    if constexpr (std::is_same_v<To, Number>) {
      return nullptr;
    } else {
      return &convert_to_elements<Number, To>;
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
