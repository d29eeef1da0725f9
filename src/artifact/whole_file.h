#pragma once

#include <filesystem>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// The bytes of a file of any size, as a uint8 tensor. kIo as InputFile; kEngine when there is no
// memory for it.
Result<Tensor> read_whole_file(const std::filesystem::path& path);

}  // namespace polystate
