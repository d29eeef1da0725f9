#include "engine/executorch/aten/read_as.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/executorch/aten/elements.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"

namespace polystate {
namespace {

template <typename Number>
void convert(const TensorArgument& tensor, const WriteAs<Number>& to) {
  std::int64_t done = 0;
  ReadAs<Number>(tensor).for_each_part(0, tensor.element_count(),
                                       [&](const Number* numbers, std::int64_t count) {
                                         to.put(done, numbers, count);
                                         done += count;
                                       });
}

}  // namespace

std::vector<std::byte> elements_as(DType dtype, const TensorArgument& tensor) {
  std::vector<std::byte> elements(static_cast<std::size_t>(tensor.element_count()) *
                                  size_of(dtype));
  if (dtype == DType::kBool && is_float(tensor.dtype())) {
    std::ranges::transform(converted<double>(tensor), elements.begin(),
                           [](double x) { return std::byte{x != 0}; });
  } else if (dtype == DType::kFloat64) {
    convert(tensor, WriteAs<double>(elements.data(), dtype));
  } else if (is_float(dtype)) {
    convert(tensor, WriteAs<float>(elements.data(), dtype));
  } else {
    convert(tensor, WriteAs<std::int64_t>(elements.data(), dtype));
  }
  return elements;
}

}  // namespace polystate
