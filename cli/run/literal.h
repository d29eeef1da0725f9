#pragma once

#include <string_view>

#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate::cli {

// Reads a tensor that a user typed: a number, "true", "false", "nan", "inf", "-inf", or a list of
// such in square brackets, nested up to eight deep ("[[1, 2], [3, 4]]"). The nesting gives the
// shape, so a bare number is a 0-d tensor. kContract, with the place in the text, where it is
// malformed or ragged or an element is no `dtype` (outside the range, not whole).
Result<Tensor> parse_literal(std::string_view text, DType dtype);

}  // namespace polystate::cli
