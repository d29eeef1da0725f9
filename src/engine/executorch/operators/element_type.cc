#include "engine/executorch/operators/element_type.h"

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "polystate/core/dtype.h"

namespace polystate {
namespace {

using executorch::aten::ScalarType;

constexpr std::array<std::pair<DType, ScalarType>, 10> kTypes = {{
    {DType::kBool, ScalarType::Bool},
    {DType::kUInt8, ScalarType::Byte},
    {DType::kInt8, ScalarType::Char},
    {DType::kInt16, ScalarType::Short},
    {DType::kInt32, ScalarType::Int},
    {DType::kInt64, ScalarType::Long},
    {DType::kFloat16, ScalarType::Half},
    {DType::kBFloat16, ScalarType::BFloat16},
    {DType::kFloat32, ScalarType::Float},
    {DType::kFloat64, ScalarType::Double},
}};

}  // namespace

ScalarType scalar_type_of(DType dtype) {
  return std::ranges::find(kTypes, dtype, &std::pair<DType, ScalarType>::first)->second;
}

std::optional<DType> dtype_of(ScalarType type) {
  const auto* const found = std::ranges::find(kTypes, type, &std::pair<DType, ScalarType>::second);
  return found == kTypes.end() ? std::nullopt : std::optional(found->first);
}

std::string type_text(ScalarType type) {
  const std::optional<DType> dtype = dtype_of(type);
  return dtype.has_value() ? std::string(name_of(*dtype))
                           : "type " + std::to_string(static_cast<int>(type));
}

}  // namespace polystate
