#pragma once

#include <span>
#include <string_view>

#include "kernels/operator_schema.h"

namespace polystate {

// Makes the operators of the namespace `polystate` known to ExecuTorch; later calls do nothing.
// Explicit, since a linker drops static initialisers of a static library that nothing refers to.
void register_kernels();

// The operators that it makes known.
std::span<const OperatorSchema> operator_schemas();

// Whether ExecuTorch has a kernel for an operator: "aten::add.out", "polystate::index_put_".
bool is_registered(std::string_view name);

}  // namespace polystate
