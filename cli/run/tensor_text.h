#pragma once

#include <string>

#include "polystate/core/tensor.h"

namespace polystate::cli {

// The elements in nested brackets, aligned, a row a line, for people. Of tensors of more than a
// thousand elements only the first and last three in each dimension are shown, around "..."; one
// without elements is "[]". Ends in a line feed.
std::string tensor_text(const Tensor& tensor);

}  // namespace polystate::cli
