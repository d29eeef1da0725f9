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
#include <string_view>
#include <system_error>
#include <utility>

#include "core/file.h"
#include "core/hidden_entry.h"
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

constexpr std::string_view kTemporaryBegin = ".polystate.";
constexpr std::size_t kTemporaryDigits = 16;
constexpr std::string_view kTemporaryEnd = ".tmp";

// A name beside `path` that hardly anything else has.
Result<std::filesystem::path> temporary_name(const std::filesystem::path& path) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) {
    return io_error("cannot name", path, errno_text(errno));
  }
  std::array<char, 24> suffix{};
  (void)std::snprintf(suffix.data(), suffix.size(), "%016llx",
                      static_cast<unsigned long long>(number));
  return folder_of(path) /
         (std::string(kTemporaryBegin) + suffix.data() + std::string(kTemporaryEnd));
}

// Whether temporary_name gives such names.
bool is_temporary_name(std::string_view name) {
  if (name.size() != kTemporaryBegin.size() + kTemporaryDigits + kTemporaryEnd.size() ||
      !name.starts_with(kTemporaryBegin) || !name.ends_with(kTemporaryEnd)) {
    return false;
  }
  const std::string_view digits = name.substr(kTemporaryBegin.size(), kTemporaryDigits);
  return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A new hidden file beside `target`, which nobody takes for abandoned while it is open. Messages
// name `path`.
Result<HiddenEntry> create_hidden(const std::filesystem::path& target, mode_t mode,
                                  const std::filesystem::path& path) {
  const auto create = [&]() -> Result<HiddenEntry> {
    const Result<std::filesystem::path> name = temporary_name(target);
    if (!name) return name.error();
    FileDescriptor file(::open(name->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file.is_open()) return io_error("cannot write", path, errno_text(errno));
    return HiddenEntry{*name, std::move(file)};
  };
  return make_hidden(create,
                     io_error("cannot write", path, "other processes remove its hidden file"));
}

// Has what was renamed in the folder stay so. A folder that may be written and not read cannot be
// opened: it is synced with all of the file system of `file`, which lies in it.
Status sync_folder(const std::filesystem::path& folder, const FileDescriptor& file) {
  const FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool is_synced =
      opened.is_open() ? ::fsync(opened.get()) == 0 : errno == EACCES && ::syncfs(file.get()) == 0;
  if (is_synced) return {};
  return io_error("cannot sync the folder", folder, errno_text(errno));
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
  remove_abandoned(folder_of(*target), HiddenKind::kFile, is_temporary_name);
  // What replaces a private file is private all the time.
  Result<HiddenEntry> hidden = create_hidden(*target, replaces ? 0600U : 0666U, path);
  if (!hidden) return hidden.error();
  AtomicFile file(*target, std::move(hidden->path), std::move(hidden->descriptor));
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
  return sync_folder(folder_of(path_), descriptor_);
}

bool are_one_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  const auto whole = [](const std::filesystem::path& path) -> std::filesystem::path {
    const Result<std::filesystem::path> target = followed(path);
    if (!target) return path.lexically_normal();
    std::error_code unknown;
    const std::filesystem::path absolute = std::filesystem::absolute(*target, unknown);
    if (unknown) return path.lexically_normal();
    const std::filesystem::path found = std::filesystem::weakly_canonical(absolute, unknown);
    return unknown ? path.lexically_normal() : found;
  };
  return whole(a) == whole(b);
}

Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file) return file.error();
  const Status written = file->write(bytes);
  return written ? file->commit() : written;
}

}  // namespace polystate
