#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {

using Half = executorch::aten::Half;
using BFloat16 = executorch::aten::BFloat16;

// Calls `work.operator()<T>()` with the C++ type of a tensor's elements.
template <typename Work>
auto with_element_type(DType dtype, const Work& work) {
  switch (dtype) {
    case DType::kBool:
      return work.template operator()<bool>();
    case DType::kUInt8:
      return work.template operator()<std::uint8_t>();
    case DType::kInt8:
      return work.template operator()<std::int8_t>();
    case DType::kInt16:
      return work.template operator()<std::int16_t>();
    case DType::kInt32:
      return work.template operator()<std::int32_t>();
    case DType::kInt64:
      return work.template operator()<std::int64_t>();
    case DType::kFloat16:
      return work.template operator()<Half>();
    case DType::kBFloat16:
      return work.template operator()<BFloat16>();
    case DType::kFloat32:
      return work.template operator()<float>();
    case DType::kFloat64:
      break;
  }
  return work.template operator()<double>();
}

template <typename T>
inline constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// What PyTorch computes with on elements of a type: float for 16 bits, the type itself otherwise.
template <typename T>
using Computed = std::conditional_t<kIsFloat<T> && sizeof(T) == 2, float, T>;

// What PyTorch sums elements of a type in, on a CPU.
template <typename T>
using Accumulated =
    std::conditional_t<std::is_same_v<T, float>, double,
                       std::conditional_t<std::is_integral_v<T>, std::int64_t, Computed<T>>>;

// The elements of a row-major tensor, whose type is T.
template <typename T>
std::span<T> elements(const TensorArgument& tensor) {
  return {reinterpret_cast<T*>(tensor.bytes()), static_cast<std::size_t>(tensor.element_count())};
}

// The elements of a row-major tensor of any type, as PyTorch's `to` converts them.
template <typename T>
std::vector<T> converted(const TensorArgument& tensor) {
  return with_element_type(tensor.dtype(), [&]<typename From>() {
    std::vector<T> values;
    values.reserve(static_cast<std::size_t>(tensor.element_count()));
    for (const From x : elements<const From>(tensor)) values.push_back(static_cast<T>(x));
    return values;
  });
}

// A row-major tensor seen along one of its dimensions: `outer` x `size` x `inner` elements.
struct Lanes {
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;

  [[nodiscard]] std::int64_t count() const { return outer * inner; }
  // Of the first element of a lane; the others follow at distances of `inner`.
  [[nodiscard]] std::int64_t start(std::int64_t lane) const {
    return lane / inner * size * inner + lane % inner;
  }
};

// `dimension` counts from the end when negative; a tensor of no dimensions counts as one of one
// element.
Result<Lanes> lanes_along(const TensorArgument& tensor, std::int64_t dimension);

// Fails where a tensor is not row-major.
Status require_row_major(const TensorArgument& tensor, const char* name);

}  // namespace polystate
