#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {

// A file inside a zip archive (PKWARE's APPNOTE 6.3), as the central directory describes it.
struct ZipEntry {
  std::string name;  // UTF-8
  bool deflated;     // else stored
  std::uint32_t crc;
  std::uint64_t packed_size;
  std::uint64_t size;
  std::uint64_t offset;  // of its local header
};

// Lists an archive, strictly: one disk, nothing before or after it, no encryption, no other
// compression, names once each. zip64 too. kContract with what is wrong.
Result<std::vector<ZipEntry>> list_zip(std::span<const std::byte> archive);

// The bytes of an entry that list_zip gave, as a uint8 tensor; a stored one is not copied
// (`archive` must outlive it). kContract when its header or data are damaged or its checksum
// differs.
Result<Tensor> read_zip_entry(std::span<const std::byte> archive, const ZipEntry& entry);

}  // namespace polystate
