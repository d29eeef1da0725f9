#include "polystate/artifact/npz.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/npy_header.h"
#include "artifact/whole_file.h"
#include "artifact/zip_reader.h"
#include "artifact/zip_writer.h"
#include "core/atomic_file.h"
#include "core/text.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

constexpr std::string_view kSuffix = ".npy";

// Deflate packs at most 1032 bytes into one.
constexpr std::uint64_t kMostPerByte = 1032;

// Refuses an archive that would take more memory than it can have a reason to.
Status check_sizes(const std::vector<ZipEntry>& entries, std::uint64_t archive_size) {
  std::uint64_t inflated = 0;
  std::uint64_t packed = 0;
  for (const ZipEntry& entry : entries) {
    if (entry.packed_size > archive_size - packed) {
      return Error{ErrorCode::kContract, "damaged zip file: its files overlap"};
    }
    packed += entry.packed_size;
    if (!entry.deflated) continue;
    if (entry.size / kMostPerByte > entry.packed_size) {
      return Error{ErrorCode::kContract, "damaged zip file: " + in_quotes(entry.name) + ": " +
                                             std::to_string(entry.packed_size) +
                                             " bytes cannot inflate to " +
                                             std::to_string(entry.size)};
    }
    if (entry.size > kMaxInflatedBytes - inflated) {
      return Error{ErrorCode::kContract, "the compressed arrays have more than " +
                                             std::to_string(kMaxInflatedBytes) +
                                             " bytes; numpy.savez writes them uncompressed"};
    }
    inflated += entry.size;
  }
  return {};
}

Result<Tensor> read_array(std::span<const std::byte> archive, const ZipEntry& entry) {
  const Result<Tensor> bytes = read_zip_entry(archive, entry);
  if (!bytes) return bytes.error();
  Result<Tensor> tensor = parse_npy(bytes->bytes());
  if (!tensor) {
    return Error{tensor.error().code, in_quotes(entry.name) + ": " + tensor.error().message};
  }
  return tensor;
}

}  // namespace

Result<std::map<std::string, Tensor>> parse_npz(std::span<const std::byte> bytes) {
  const Result<std::vector<ZipEntry>> entries = list_zip(bytes);
  if (!entries) return entries.error();
  if (const Status status = check_sizes(*entries, bytes.size()); !status) return status.error();
  std::map<std::string, Tensor> tensors;
  for (const ZipEntry& entry : *entries) {
    if (!entry.name.ends_with(kSuffix)) {
      return Error{ErrorCode::kContract,
                   in_quotes(entry.name) + " is not an array: its name does not end in .npy"};
    }
    Result<Tensor> tensor = read_array(bytes, entry);
    if (!tensor) return tensor.error();
    tensors.emplace(entry.name.substr(0, entry.name.size() - kSuffix.size()), *std::move(tensor));
  }
  return tensors;
}

Result<std::map<std::string, Tensor>> read_npz(const std::filesystem::path& path) {
  const Result<Tensor> bytes = read_whole_file(path);
  if (!bytes) return bytes.error();
  Result<std::map<std::string, Tensor>> tensors = parse_npz(bytes->bytes());
  if (!tensors) {
    return Error{tensors.error().code, "'" + path.string() + "': " + tensors.error().message};
  }
  return tensors;
}

Status write_npz(const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file) return file.error();
  ZipWriter zip(*file);
  for (const auto& [name, tensor] : tensors) {
    const Result<std::string> header = format_npy_header(tensor);
    if (!header) return header.error();
    const Status added =
        zip.add(name + std::string(kSuffix), {std::as_bytes(std::span(*header)), tensor.bytes()});
    if (!added) return added;
  }
  if (Status status = zip.finish(); !status) return status;
  return file->commit();
}

}  // namespace polystate
