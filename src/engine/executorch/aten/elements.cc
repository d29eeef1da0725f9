#include "engine/executorch/aten/elements.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/instruction_set.h"
#include "core/vectorised.h"
#include "engine/executorch/operators/layout.h"
#include "kernels/tensor_argument.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

// Whether a place is negative, or `end` or larger: whether the sign of it or of what is left to the
// last one is set. Compilers vectorise this, which has no bools and does not stop early.
bool has_others(const std::int64_t* places, std::int64_t count, std::int64_t end) {
  const std::uint64_t last = static_cast<std::uint64_t>(end) - 1;
  std::uint64_t signs = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto place = static_cast<std::uint64_t>(places[i]);
    signs |= place | (last - place);
  }
  return (signs >> 63U) != 0;
}

}  // namespace

Result<Lanes> lanes_along(const TensorArgument& tensor, std::int64_t dimension) {
  const Result<std::size_t> place = resolve_dimension(tensor.shape(), dimension);
  if (!place) return place.error();
  Lanes lanes;
  for (std::size_t i = 0; i < tensor.shape().size(); ++i) {
    std::int64_t& part = i < *place ? lanes.outer : i == *place ? lanes.size : lanes.inner;
    part *= tensor.shape()[i];
  }
  return lanes;
}

std::vector<std::int64_t> reduced_shape(const TensorArgument& tensor, std::int64_t dimension,
                                        bool keeps_dimension) {
  std::vector<std::int64_t> shape(tensor.shape().begin(), tensor.shape().end());
  if (shape.empty()) return shape;
  const std::size_t found = *resolve_dimension(tensor.shape(), dimension);
  const auto place = shape.begin() + static_cast<std::ptrdiff_t>(found);
  if (keeps_dimension) {
    *place = 1;
  } else {
    shape.erase(place);
  }
  return shape;
}

bool is_float(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

Error refused(std::string why) { return {ErrorCode::kEngine, std::move(why)}; }

Status require_row_major(const TensorArgument& tensor, const char* name) {
  if (tensor.is_row_major()) return {};
  return Error{ErrorCode::kEngine, std::string(name) + " is not row-major"};
}

float rounded_to_half(DType dtype, float x) {
  return dtype == DType::kFloat16 ? rounded<Float16>(x) : rounded<BFloat16>(x);
}

bool are_places(std::span<const std::int64_t> places, std::int64_t end) {
  const auto count = static_cast<std::int64_t>(places.size());
  return !vectorised<&has_others>(best_instruction_set())(places.data(), count, end);
}

Status require_places(std::span<const std::int64_t> places, std::int64_t end) {
  if (are_places(places, end)) return {};
  const auto other =
      std::ranges::find_if(places, [end](std::int64_t place) { return place < 0 || place >= end; });
  return refused("index " + std::to_string(*other) + " of " + std::to_string(end));
}

}  // namespace polystate
