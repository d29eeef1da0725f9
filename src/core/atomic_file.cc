#include "core/atomic_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

Error io_error(const std::string& what, const std::filesystem::path& path, const std::string& why) {
  return {ErrorCode::kIo, what + " '" + path.string() + "': " + why};
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// Where the symbolic links that begin with `path` end, which need not exist.
Result<std::filesystem::path> followed(const std::filesystem::path& path) {
  constexpr int kMostLinks = 40;  // the kernel's own limit
  std::filesystem::path target = path;
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(target, error))) return target;
    const std::filesystem::path next = std::filesystem::read_symlink(target, error);
    if (error) return io_error("cannot write", path, error.message());
    target = folder_of(target) / next;
  }
  return io_error("cannot write", path, errno_text(ELOOP));
}

// A name beside `path` that hardly anything else has.
Result<std::filesystem::path> temporary_name(const std::filesystem::path& path) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    return io_error("cannot name", path, errno_text(errno));
  }
  std::array<char, 24> suffix{};
  (void)std::snprintf(suffix.data(), suffix.size(), "%016llx",
                      static_cast<unsigned long long>(number));
  return folder_of(path) / (".polystate." + std::string(suffix.data()) + ".tmp");
}

Status sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.is_open() || ::fsync(descriptor.get()) != 0) {
    return io_error("cannot sync the folder", folder, errno_text(errno));
  }
  return {};
}

}  // namespace

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  if (!path.has_filename()) return io_error("cannot write", path, "it names no file");
  const Result<std::filesystem::path> target = followed(path);
  if (!target) return target.error();
  struct stat status{};
  const bool replaces = ::stat(target->c_str(), &status) == 0;
  if (replaces && !S_ISREG(status.st_mode)) {
    return io_error("cannot write", path, "it exists and is not a regular file");
  }
  const Result<std::filesystem::path> temporary = temporary_name(*target);
  if (!temporary) return temporary.error();
  FileDescriptor descriptor(::open(temporary->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                   replaces ? S_IRUSR | S_IWUSR : 0666));
  if (!descriptor.is_open()) return io_error("cannot write", path, errno_text(errno));
  AtomicFile file(*target, *temporary, std::move(descriptor));
  if (replaces && ::fchmod(file.descriptor_.get(), status.st_mode & 07777U) != 0) {
    return io_error("cannot write", path, errno_text(errno));
  }
  return file;
}

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary,
                       FileDescriptor descriptor)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      descriptor_(std::move(descriptor)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::move(other.descriptor_)) {}

AtomicFile::~AtomicFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  constexpr std::size_t kLargestWrite = 1024UL * 1024 * 1024;
  while (!bytes.empty()) {
    const ssize_t count =
        ::write(descriptor_.get(), bytes.data(), std::min(bytes.size(), kLargestWrite));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return io_error("cannot write", path_, errno_text(errno));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status AtomicFile::commit() {
  if (::fsync(descriptor_.get()) != 0) return io_error("cannot write", path_, errno_text(errno));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return io_error("cannot write", path_, errno_text(errno));
  }
  temporary_.clear();
  return sync_folder(folder_of(path_));
}

Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file) return file.error();
  const Status written = file->write(bytes);
  return written ? file->commit() : written;
}

}  // namespace polystate
