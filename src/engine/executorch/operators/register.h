#pragma once

#include <string_view>

namespace polystate {

// Makes the operators of the namespace `polystate` known to ExecuTorch; later calls do nothing.
// Explicit, since a linker drops static initialisers of a static library that nothing refers to.
void register_kernels();

// Whether ExecuTorch has a kernel for an operator: "aten::add.out", "polystate::index_put_".
bool is_registered(std::string_view name);

}  // namespace polystate
