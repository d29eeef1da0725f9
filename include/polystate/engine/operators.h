#pragma once

#include <string>
#include <vector>

namespace polystate {

// The schemas of the operators that this library adds to ExecuTorch's own, as PyTorch writes them:
// "aten::cumprod.out(Tensor self, int dim, *, ...) -> Tensor(a!)". None in a build without
// ExecuTorch.
std::vector<std::string> executorch_operators();

}  // namespace polystate
