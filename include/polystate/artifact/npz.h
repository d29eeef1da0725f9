#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// NumPy's .npy (versions 1 to 3, little-endian, C order, no objects) and .npz files (zip, stored or
// deflated, also zip64). NumPy has no bfloat16 and DType no uint16, so one stands for the other:
// bfloat16 is written as uint16 bits, and uint16 is read as bfloat16. kContract for a damaged or
// unsupported file, with what is wrong; kIo when it cannot be read or written; kEngine when there
// is no memory.
Result<Tensor> parse_npy(std::span<const std::byte> bytes);
Result<Tensor> read_npy(const std::filesystem::path& path);

// Arrays by name, without ".npy". Names are keys only (they may hold '/'): nothing is ever unpacked
// to a file. Checksums are compared.
Result<std::map<std::string, Tensor>> parse_npz(std::span<const std::byte> bytes);
Result<std::map<std::string, Tensor>> read_npz(const std::filesystem::path& path);

// All deflated arrays of one .npz file may have so many bytes; a small file cannot fill the memory.
constexpr std::uint64_t kMaxInflatedBytes = 4UL * 1024 * 1024 * 1024;

// Writing is atomic: beside, fsync, rename. The same tensors give the same bytes. A .npz file has
// less than 4 GiB (kContract); for a .npy file there is no limit.
Status write_npy(const std::filesystem::path& path, const Tensor& tensor);
Status write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors);

}  // namespace polystate
