#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate {

// A file that appears, or replaces the one before it, whole or not at all: the bytes go to a hidden
// file beside it, which commit syncs and renames. Without a commit the destructor removes that
// file. A process that a signal ends leaves it behind. The next one that writes into the folder an
// hour later or more removes it, as nobody holds its lock any more.
class AtomicFile {
 public:
  // kIo when the folder cannot be written, or when `path` exists and is no regular file (a link
  // counts as what it leads to, and is then itself replaced).
  static Result<AtomicFile> create(const std::filesystem::path& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Appends. After an error the file is of no use.
  Status write(std::span<const std::byte> bytes);
  // Makes the file appear under its name, for good: file and folder are synced.
  Status commit();

 private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary,
             FileDescriptor descriptor);

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty once renamed
  FileDescriptor descriptor_;
};

// Whether files that are written at both paths would be one. Symbolic links are followed, those to
// nothing yet too; where a path cannot be examined, its text counts.
bool are_one_file(const std::filesystem::path& a, const std::filesystem::path& b);

// All of it at once.
Status write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace polystate
