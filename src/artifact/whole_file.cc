#include "artifact/whole_file.h"

#include <cstdint>
#include <filesystem>

#include "core/file.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

Result<Tensor> read_whole_file(const std::filesystem::path& path) {
  const Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  Result<Tensor> bytes = Tensor::empty(DType::kUInt8, {static_cast<std::int64_t>(file->size())});
  if (!bytes) return bytes;
  if (const Status status = file->read_at(0, bytes->mutable_bytes()); !status) {
    return status.error();
  }
  return bytes;
}

}  // namespace polystate
