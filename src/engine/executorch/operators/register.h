#pragma once

#include <string_view>

namespace polystate {

// Makes this project's operators, and those of PyTorch that ExecuTorch has no kernels of, known to
// it; later calls do nothing.
// Explicit, since a linker drops static initialisers of a static library that nothing refers to.
void register_kernels();

// Whether ExecuTorch has a kernel for an operator: "aten::add.out", "polystate::index_put_".
bool is_registered(std::string_view name);

}  // namespace polystate
