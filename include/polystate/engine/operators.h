#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {

// The schemas of the operators that this library adds to ExecuTorch's own, as PyTorch writes them:
// "aten::cumprod.out(Tensor self, int dim, *, ...) -> Tensor(a!)". None in a build without
// ExecuTorch.
std::vector<std::string> executorch_operators();

// An argument of an operator: nothing (None), a tensor, a number, a text, a list.
using OperatorArgument = std::variant<std::monostate, Tensor, bool, std::int64_t, double,
                                      std::string, std::vector<std::int64_t>, std::vector<double>,
                                      std::vector<Tensor>, std::vector<std::optional<Tensor>>>;

// Calls an operator of ExecuTorch or of this library, in the form that fills given results:
// "aten::cumprod.out". `arguments` has all that its schema lists, the last `results` of which are
// tensors with memory for the results, row-major. Returns the shapes of the results, which may be
// smaller. kUnsupported where there is no such operator, kContract where there are no arguments or
// fewer than results, or a result is no tensor, kEngine where it fails.
Result<std::vector<Shape>> call_operator(const std::string& name,
                                         std::span<const OperatorArgument> arguments,
                                         std::size_t results);

}  // namespace polystate
