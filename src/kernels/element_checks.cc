#include "kernels/element_checks.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "core/half.h"
#include "kernels/check_failure.h"
#include "polystate/core/dtype.h"

namespace polystate {
namespace {

// How messages show a value of a tensor.
template <typename T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else {
    std::array<char, 32> text{};  // of any number at its shortest
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
  }
}

template <typename T>
bool is_within(T value, CheckLimits limits) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<std::int64_t>(value) >= limits.low &&
           static_cast<std::int64_t>(value) <= limits.high;
  } else {
    return double{value} >= static_cast<double>(limits.low) &&
           double{value} <= static_cast<double>(limits.high);
  }
}

// `value_of` makes of an element as it is stored the number that it stands for.
template <typename Stored, typename ValueOf = std::identity>
std::optional<CheckFailure> check_stored(std::span<const std::byte> bytes, CheckLimits limits,
                                         std::int64_t id, ValueOf value_of = {}) {
  const std::span elements(reinterpret_cast<const Stored*>(bytes.data()),
                           bytes.size() / sizeof(Stored));
  for (const Stored element : elements) {
    const auto value = value_of(element);
    if (!is_within(value, limits)) return CheckFailure{id, element_text(value)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<CheckFailure> check_elements(DType dtype, std::span<const std::byte> bytes,
                                           CheckLimits limits, std::int64_t id) {
  switch (dtype) {
    case DType::kBool:
      return check_stored<bool>(bytes, limits, id);
    case DType::kUInt8:
      return check_stored<std::uint8_t>(bytes, limits, id);
    case DType::kInt8:
      return check_stored<std::int8_t>(bytes, limits, id);
    case DType::kInt16:
      return check_stored<std::int16_t>(bytes, limits, id);
    case DType::kInt32:
      return check_stored<std::int32_t>(bytes, limits, id);
    case DType::kInt64:
      return check_stored<std::int64_t>(bytes, limits, id);
    case DType::kFloat16:
      return check_stored<std::uint16_t>(bytes, limits, id, float16_to_float);
    case DType::kBFloat16:
      return check_stored<std::uint16_t>(bytes, limits, id, bfloat16_to_float);
    case DType::kFloat32:
      return check_stored<float>(bytes, limits, id);
    case DType::kFloat64:
      return check_stored<double>(bytes, limits, id);
    case DType::kComplex64:
    case DType::kComplex128:
      break;  // have no order, and programs none of them
  }
  return std::nullopt;
}

std::optional<CheckFailure> check_size(std::int64_t size, CheckLimits limits, std::int64_t id) {
  return check_elements(DType::kInt64, std::as_bytes(std::span(&size, 1)), limits, id);
}

}  // namespace polystate
