#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace polystate {

// Element types, named as PyTorch names them ("float32", "bool").
enum class DType : std::uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,   // IEEE binary16, as its bits
  kBFloat16,  // the upper half of a binary32, as its bits
  kFloat32,
  kFloat64,
  kComplex64,   // two binary32: the real part, then the imaginary one
  kComplex128,  // two binary64
};

// Bytes per element.
std::size_t size_of(DType dtype);

// What the address of an element is a multiple of, in bytes.
std::size_t alignment_of(DType dtype);

// The type of both parts of a complex type; nothing for the others.
std::optional<DType> part_of(DType dtype);

// PyTorch's name without "torch.", and back.
std::string_view name_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);

// Whether the elements are integers (bool is not one).
bool is_integer(DType dtype);

// The DType of a C++ element type; other types do not compile.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return DType::kBool;
  } else if constexpr (std::is_same_v<T, std::uint8_t>) {
    return DType::kUInt8;
  } else if constexpr (std::is_same_v<T, std::int8_t>) {
    return DType::kInt8;
  } else if constexpr (std::is_same_v<T, std::int16_t>) {
    return DType::kInt16;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return DType::kInt32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return DType::kInt64;
  } else if constexpr (std::is_same_v<T, float>) {
    return DType::kFloat32;
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    return DType::kComplex64;
  } else if constexpr (std::is_same_v<T, std::complex<double>>) {
    return DType::kComplex128;
  } else {
    static_assert(std::is_same_v<T, double>, "T is not the element type of any DType");
    return DType::kFloat64;
  }
}

}  // namespace polystate
