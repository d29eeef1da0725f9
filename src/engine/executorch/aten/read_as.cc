#include "engine/executorch/aten/read_as.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"

namespace polystate {
namespace {

// Calls `work(numbers, count, place)` for all elements, some at a time.
template <typename Number, typename Work>
void for_each_part(const TensorArgument& tensor, const Work& work) {
  std::int64_t place = 0;
  ReadAs<Number>(tensor).for_each_part(0, tensor.element_count(),
                                       [&](const Number* numbers, std::int64_t count) {
                                         work(numbers, count, place);
                                         place += count;
                                       });
}

template <typename Number>
void convert(const TensorArgument& tensor, const WriteAs<Number>& to) {
  for_each_part<Number>(tensor, [&](const Number* numbers, std::int64_t count, std::int64_t place) {
    to.put(place, numbers, count);
  });
}

// Floats as integers of 32 bits, from which PyTorch's conversions take the bits of shorter ones.
void truncate(const TensorArgument& tensor, const WriteAs<std::int32_t>& to, bool to_bool) {
  std::array<std::int32_t, kNumbersAtOnce> integers;
  for_each_part<double>(tensor, [&](const double* numbers, std::int64_t count, std::int64_t place) {
    for (std::int64_t done = 0; done < count; done += kNumbersAtOnce) {
      const std::int64_t some = std::min(kNumbersAtOnce, count - done);
      std::transform(numbers + done, numbers + done + some, integers.begin(), [&](double x) {
        return to_bool ? static_cast<std::int32_t>(x != 0) : static_cast<std::int32_t>(x);
      });
      to.put(place + done, integers.data(), some);
    }
  });
}

}  // namespace

std::vector<std::byte> elements_as(DType dtype, const TensorArgument& tensor) {
  std::vector<std::byte> elements(static_cast<std::size_t>(tensor.element_count()) *
                                  size_of(dtype));
  const bool is_short = size_of(dtype) <= sizeof(std::int32_t) && dtype != DType::kUInt8;
  if (dtype == DType::kFloat64) {
    convert(tensor, WriteAs<double>(elements.data(), dtype));
  } else if (is_float(dtype)) {
    convert(tensor, WriteAs<float>(elements.data(), dtype));
  } else if (is_float(tensor.dtype()) && is_short) {
    truncate(tensor, WriteAs<std::int32_t>(elements.data(), dtype), dtype == DType::kBool);
  } else {
    convert(tensor, WriteAs<std::int64_t>(elements.data(), dtype));
  }
  return elements;
}

}  // namespace polystate
