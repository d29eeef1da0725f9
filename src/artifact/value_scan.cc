#include "artifact/value_scan.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "polystate/core/dtype.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

// Calls `visit` with the elements of an integer tensor as a span of their type.
template <typename Visitor>
auto visit_integers(const Tensor& tensor, Visitor visit) {
  switch (tensor.dtype()) {
    case DType::kUInt8:
      return visit(tensor.values<std::uint8_t>());
    case DType::kInt8:
      return visit(tensor.values<std::int8_t>());
    case DType::kInt16:
      return visit(tensor.values<std::int16_t>());
    case DType::kInt32:
      return visit(tensor.values<std::int32_t>());
    default:
      break;
  }
  return visit(tensor.values<std::int64_t>());
}

template <typename T>
std::optional<std::size_t> find(std::span<const T> values, std::int64_t min, std::int64_t max) {
  // Whole blocks first, without a branch in between, which compilers turn into vector instructions.
  constexpr std::size_t kBlock = 256;
  for (std::size_t start = 0; start < values.size(); start += kBlock) {
    const std::span<const T> block = values.subspan(start, std::min(kBlock, values.size() - start));
    bool outside = false;
    for (const T value : block) outside |= value < min || value > max;
    if (!outside) continue;
    const auto first = std::find_if(block.begin(), block.end(),
                                    [min, max](T value) { return value < min || value > max; });
    return start + static_cast<std::size_t>(first - block.begin());
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::size_t> find_outside(const Tensor& tensor, std::int64_t min, std::int64_t max) {
  return visit_integers(tensor, [min, max](auto values) { return find(values, min, max); });
}

std::int64_t element_at(const Tensor& tensor, std::size_t index) {
  return visit_integers(tensor,
                        [index](auto values) { return static_cast<std::int64_t>(values[index]); });
}

}  // namespace polystate
