#pragma once

#include <cstddef>
#include <span>

namespace polystate {

// The bytes of a file of an artifact, read-only, with their owner. There are two kinds:
//
// - A private copy (Verification::kFull): anonymous memory in huge pages where the system has them.
//   Nobody else can change it, and it stays whole in memory.
// - A mapping (Verification::kTrusted): pages come from the file when they are touched, and the
//   system may drop them again. Where someone changes the file, the bytes change; where someone
//   truncates it, touching them ends the process (SIGBUS).
//
// A sealed memfd, the third way, was measured: its pages could leave this process but not the
// machine's memory, and filling it took 1.8 times as long as hashing (huge pages: 1.1 times).
class FileBytes {
 public:
  FileBytes() = default;
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  virtual ~FileBytes() = default;

  // Valid while this object exists; starts at the beginning of a page.
  [[nodiscard]] virtual std::span<const std::byte> bytes() const = 0;

  // Says that `size` bytes from `offset` will not be read for some time. A mapping gives their
  // pages back, and they return from the file when they are read; a private copy keeps them. Any
  // thread may call it, also while others read the bytes.
  virtual void release(std::size_t offset, std::size_t size) const = 0;
};

}  // namespace polystate
