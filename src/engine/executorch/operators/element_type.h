#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <optional>
#include <string>

#include "polystate/core/dtype.h"

namespace polystate {

// ExecuTorch's name for an element type, and back; nothing for types that no artifact has.
executorch::aten::ScalarType scalar_type_of(DType dtype);
std::optional<DType> dtype_of(executorch::aten::ScalarType type);

// The type's name for messages: "float32".
std::string type_text(executorch::aten::ScalarType type);

}  // namespace polystate
