#include "core/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {
namespace {

template <typename Bytes>
Result<Bytes> read_whole(const InputFile& file, std::uint64_t limit) {
  if (file.size() > limit) {
    return Error{ErrorCode::kIo, file.shown_name() + " has " + std::to_string(file.size()) +
                                     " bytes; the limit is " + std::to_string(limit)};
  }
  Bytes bytes;
  bytes.resize(file.size());
  const Status read = file.read_at(0, std::as_writable_bytes(std::span(bytes)));
  if (!read) return read.error();
  return bytes;
}

}  // namespace

std::string errno_text(int code) { return std::generic_category().message(code); }

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (is_open()) ::close(descriptor_);
}

Lock try_lock(const FileDescriptor& descriptor) {
  if (::flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0) return Lock::kOurs;
  return errno == EWOULDBLOCK ? Lock::kTaken : Lock::kUnknown;
}

Result<InputFile> InputFile::open(const std::filesystem::path& path) {
  FileDescriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open()) {
    return Error{ErrorCode::kIo, "cannot open '" + path.string() + "': " + errno_text(errno)};
  }
  return adopt(std::move(descriptor), "'" + path.string() + "'");
}

Result<InputFile> InputFile::adopt(FileDescriptor descriptor, std::string shown_name) {
  struct stat status{};
  if (::fstat(descriptor.get(), &status) != 0) {
    return Error{ErrorCode::kIo, "cannot examine " + shown_name + ": " + errno_text(errno)};
  }
  if (!S_ISREG(status.st_mode)) return Error{ErrorCode::kIo, shown_name + " is not a regular file"};
  return InputFile(std::move(descriptor), std::move(shown_name),
                   static_cast<std::uint64_t>(status.st_size));
}

InputFile::InputFile(FileDescriptor descriptor, std::string shown_name, std::uint64_t size)
    : descriptor_(std::move(descriptor)), shown_name_(std::move(shown_name)), size_(size) {}

Status InputFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = ::pread(descriptor_.get(), out.data() + done, out.size() - done,
                                  static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return Error{ErrorCode::kIo, "cannot read " + shown_name_ + ": " + errno_text(errno)};
    }
    if (count == 0) {
      return Error{ErrorCode::kIo, shown_name_ + " ends after " + std::to_string(offset + done) +
                                       " bytes; " + std::to_string(offset + out.size()) +
                                       " were expected"};
    }
    done += static_cast<std::size_t>(count);
  }
  return {};
}

Result<std::vector<std::byte>> read_file(const InputFile& file, std::uint64_t limit) {
  return read_whole<std::vector<std::byte>>(file, limit);
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t limit) {
  const Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  return read_whole<std::string>(*file, limit);
}

}  // namespace polystate
