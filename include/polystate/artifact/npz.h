#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// NumPy's .npy (versions 1 to 3, little-endian, C order) and .npz (zip, stored or deflated) files. bfloat16, which NumPy lacks, is
// written as uint16 bits, and read as uint16 (the caller knows better and uses reinterpret). kContract for a damaged or unsupported
// file, with what is wrong; kIo when it cannot be read or written. Writing is atomic: beside, fsync, rename.
Result<Tensor> parse_npy(std::span<const std::byte> bytes);
Result<Tensor> read_npy(const std::filesystem::path& path);
Status write_npy(const std::filesystem::path& path, const Tensor& tensor);

Result<std::map<std::string, Tensor>> parse_npz(std::span<const std::byte> bytes);
Result<std::map<std::string, Tensor>> read_npz(const std::filesystem::path& path);
Status write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);

}  // namespace polystate
