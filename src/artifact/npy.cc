#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "artifact/npy_header.h"
#include "artifact/whole_file.h"
#include "core/atomic_file.h"
#include "core/bools.h"
#include "polystate/artifact/npz.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/shape.h"
#include "polystate/core/tensor.h"

namespace polystate {

Result<Tensor> parse_npy(std::span<const std::byte> bytes) {
  Result<NpyHeader> header = parse_npy_header(bytes);
  if (!header) return header.error();
  const std::span<const std::byte> data = bytes.subspan(header->size);
  const std::optional<std::size_t> count = element_count(header->dtype, header->shape);
  if (!count || data.size() != *count * size_of(header->dtype)) {
    return Error{ErrorCode::kContract, "the file has " + std::to_string(data.size()) +
                                           " bytes of elements, not those of a " +
                                           std::string(name_of(header->dtype)) +
                                           " array of shape " + to_string(header->shape)};
  }
  if (has_bad_bool(header->dtype, data))
    return Error{ErrorCode::kContract, "a bool of the array is neither 0 nor 1"};
  return Tensor::copy_of(header->dtype, std::move(header->shape), data);
}

Result<Tensor> read_npy(const std::filesystem::path& path) {
  const Result<Tensor> bytes = read_whole_file(path);
  if (!bytes) return bytes.error();
  Result<Tensor> tensor = parse_npy(bytes->bytes());
  if (!tensor) {
    return Error{tensor.error().code, "'" + path.string() + "': " + tensor.error().message};
  }
  return tensor;
}

Status write_npy(const std::filesystem::path& path, const Tensor& tensor) {
  const Result<std::string> header = format_npy_header(tensor);
  if (!header) return header.error();
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file) return file.error();
  if (Status status = file->write(std::as_bytes(std::span(*header))); !status) return status;
  if (Status status = file->write(tensor.bytes()); !status) return status;
  return file->commit();
}

}  // namespace polystate
