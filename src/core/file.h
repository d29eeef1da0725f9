#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"

namespace polystate {

// What the system says about a value of errno.
std::string errno_text(int code);

// Owns an open file descriptor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  FileDescriptor(FileDescriptor&& other) noexcept;
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;  // -1: none
};

// Who has the lock of an open file or folder.
enum class Lock : std::uint8_t {
  kOurs,
  kTaken,    // it is another process's, or that of another descriptor
  kUnknown,  // the file system has no locks
};

// Takes the lock where nobody has it, until the descriptor is closed. That of a process that has
// ended is free.
Lock try_lock(const FileDescriptor& descriptor);

// A regular file that is open for reading, and the name that messages call it by.
class InputFile {
 public:
  // kIo when it is missing, cannot be opened or is no regular file. Does not wait for a writer of a
  // named pipe.
  static Result<InputFile> open(const std::filesystem::path& path);
  // As open, for a descriptor that the caller opened.
  static Result<InputFile> adopt(FileDescriptor descriptor, std::string shown_name);

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  [[nodiscard]] const std::string& shown_name() const { return shown_name_; }
  // Bytes, when it was opened.
  [[nodiscard]] std::uint64_t size() const { return size_; }

  // Fills `out` with the bytes from `offset`; kIo when reading fails or the file ends before.
  Status read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  InputFile(FileDescriptor descriptor, std::string shown_name, std::uint64_t size);

  FileDescriptor descriptor_;
  std::string shown_name_;
  std::uint64_t size_;
};

// The whole file. kIo as InputFile, and when it has more than `limit` bytes.
Result<std::vector<std::byte>> read_file(const InputFile& file, std::uint64_t limit);

// As read_file, of the file at a path: its bytes as a text.
Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t limit);

}  // namespace polystate
