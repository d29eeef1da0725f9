#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "artifact/zip_reader.h"
#include "core/atomic_file.h"
#include "polystate/core/result.h"

namespace polystate {

// Writes a zip archive of stored files, of less than 4 GiB (kContract otherwise). The same content
// gives the same bytes, which are those of Python's zipfile with the earliest date.
class ZipWriter {
 public:
  // `file` is appended to, and must outlive the writer.
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  // A file whose content is `parts`, one after another.
  Status add(const std::string& name, std::initializer_list<std::span<const std::byte>> parts);
  // Writes the directory; nothing may be added afterwards.
  Status finish();

 private:
  Status write(std::span<const std::byte> bytes);

  AtomicFile& file_;
  std::uint64_t position_ = 0;
  std::vector<ZipEntry> entries_;
};

}  // namespace polystate
