#include "core/strides.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace polystate {

Strides row_major_strides(std::span<const std::int64_t> shape) {
  Strides strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

}  // namespace polystate
