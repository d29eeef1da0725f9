#include "polystate/core/shape.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "polystate/core/dtype.h"

namespace polystate {

std::string to_string(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::string place_text(std::span<const std::int64_t> shape, std::size_t index) {
  Shape place(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[d]);
    place[d] = static_cast<std::int64_t>(index % size);
    index /= size;
  }
  return to_string(place);
}

std::optional<std::size_t> element_count(DType dtype, std::span<const std::int64_t> shape) {
  bool has_zero = false;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    has_zero = has_zero || size == 0;
  }
  if (has_zero) return 0;

  std::size_t count = 1;
  const auto limit =
      static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()) / size_of(dtype);
  for (const std::int64_t size : shape) {
    if (static_cast<std::size_t>(size) > limit / count) return std::nullopt;
    count *= static_cast<std::size_t>(size);
  }
  return count;
}

}  // namespace polystate
