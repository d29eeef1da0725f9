#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/parallel.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {

using Float16 = executorch::aten::Half;
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
      return work.template operator()<Float16>();
    case DType::kBFloat16:
      return work.template operator()<BFloat16>();
    case DType::kFloat32:
      return work.template operator()<float>();
    case DType::kFloat64:
    case DType::kComplex64:  // which no tensor of a program is
    case DType::kComplex128:
      break;
  }
  return work.template operator()<double>();
}

// Calls `work.operator()<kBytes>()` with the size of a tensor's elements.
template <typename Work>
void with_element_size(DType dtype, const Work& work) {
  switch (size_of(dtype)) {
    case 1:
      return work.template operator()<1>();
    case 2:
      return work.template operator()<2>();
    case 4:
      return work.template operator()<4>();
    default:
      return work.template operator()<8>();
  }
}

template <typename T>
inline constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

// Whether numbers of a type are floats of 16 bits.
template <typename T>
inline constexpr bool kIsHalf = kIsFloat<T> && sizeof(T) == 2;

bool is_float(DType dtype);

// What an operator returns that does not take its arguments.
Error refused(std::string why);

// What PyTorch computes with on elements of a type: float for 16 bits, the type itself otherwise.
template <typename T>
using Computed = std::conditional_t<kIsHalf<T>, float, T>;

// What sums of numbers of a type are kept in. PyTorch sums float32 in float32, some parts at a
// time: a sum whose parts leave float32's range and come back to it may be a number here; there it
// is infinite or NaN where its parts happen to be.
template <typename T>
using Accumulated =
    std::conditional_t<std::is_same_v<T, float>, double,
                       std::conditional_t<std::is_integral_v<T>, std::int64_t, Computed<T>>>;

template <typename T>
constexpr bool is_nan(T x) {
  if constexpr (kIsFloat<T>) {
    return x != x;
  } else {
    return false;
  }
}

// A number as an element of type T has it.
template <typename T, typename Number>
Number rounded(Number x) {
  return static_cast<Number>(static_cast<T>(x));
}

// What a type of 16-bit floats has of a number.
float rounded_to_half(DType dtype, float x);

// A number that elements of a type are computed in, as they have it: rounded, if they are floats of
// 16 bits.
template <typename Number>
Number rounded_to(DType dtype, Number x) {
  if constexpr (std::is_same_v<Number, float>) {
    if (size_of(dtype) == 2) return rounded_to_half(dtype, x);
  }
  return x;
}

// The elements of a row-major tensor, whose type is T.
template <typename T>
std::span<T> elements(const TensorArgument& tensor) {
  return {reinterpret_cast<T*>(tensor.bytes()), static_cast<std::size_t>(tensor.element_count())};
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

// A shape without one of its dimensions, or with one of size 1 instead; `dimension` is as above,
// and one that there is.
std::vector<std::int64_t> reduced_shape(const TensorArgument& tensor, std::int64_t dimension,
                                        bool keeps_dimension);

// From so many elements on, another thread saves more time than it costs to wake.
inline constexpr std::int64_t kElementsWorthAThread = 32'768;

// Calls `work(first, last)` for ranges of numbers that stand for `each` elements.
template <typename Work>
void for_each_range(std::int64_t count, std::int64_t each, const Work& work) {
  parallel_for(count,
               std::max<std::int64_t>(1, kElementsWorthAThread / std::max<std::int64_t>(1, each)),
               work);
}

// Calls `work(start)` for the first element of each lane.
template <typename Work>
void for_each_lane(const Lanes& lanes, const Work& work) {
  for_each_range(lanes.count(), lanes.size, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t lane = first; lane < last; ++lane) work(lanes.start(lane));
  });
}

// Fails where a tensor is not row-major.
Status require_row_major(const TensorArgument& tensor, const char* name);

// Whether every number is one of 0 to `end` - 1.
bool are_places(std::span<const std::int64_t> places, std::int64_t end);

// Fails where a number is not one of 0 to `end` - 1, and names it.
Status require_places(std::span<const std::int64_t> places, std::int64_t end);

}  // namespace polystate
