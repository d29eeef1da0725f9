#include "artifact/zip_writer.h"

#include <zconf.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "artifact/json_path.h"
#include "artifact/little_endian.h"
#include "artifact/zip_format.h"
#include "artifact/zip_reader.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

constexpr std::uint16_t kVersion = 20;  // that a reader must know; for zip64:
constexpr std::uint16_t kVersion64 = 45;
constexpr std::uint16_t kUnix = 3U << 8U;
constexpr std::uint32_t kPlainFile = 0100644U << 16U;
constexpr std::uint16_t kMidnight = 0;
constexpr std::uint16_t kEarliestDay = (1U << 5U) | 1U;  // 1980-01-01

bool needs_zip64(std::uint64_t number) { return number >= kZip64Mark32; }

std::uint32_t or_mark(std::uint64_t number) {
  return needs_zip64(number) ? kZip64Mark32 : static_cast<std::uint32_t>(number);
}

std::uint16_t flags_of(const ZipEntry& entry) {
  const bool ascii =
      std::all_of(entry.name.begin(), entry.name.end(), [](char c) { return c >= 0; });
  return ascii ? 0 : kZipUtf8Flag;
}

// The zip64 record with the numbers that are too large for their own fields.
std::string zip64_extra(std::initializer_list<std::uint64_t> numbers) {
  std::string fields;
  for (const std::uint64_t number : numbers) {
    if (needs_zip64(number)) append_u64(fields, number);
  }
  if (fields.empty()) return fields;
  std::string extra;
  append_u16(extra, kZip64ExtraId);
  append_u16(extra, static_cast<std::uint16_t>(fields.size()));
  return extra + fields;
}

// What a local header and an entry of the directory have in common.
void append_common(std::string& out, const ZipEntry& entry, const std::string& extra) {
  append_u16(out, extra.empty() ? kVersion : kVersion64);
  append_u16(out, flags_of(entry));
  append_u16(out, kZipStored);
  append_u16(out, kMidnight);
  append_u16(out, kEarliestDay);
  append_u32(out, entry.crc);
  append_u32(out, or_mark(entry.packed_size));
  append_u32(out, or_mark(entry.size));
  append_u16(out, static_cast<std::uint16_t>(entry.name.size()));
  append_u16(out, static_cast<std::uint16_t>(extra.size()));
}

std::string local_header(const ZipEntry& entry) {
  const std::string extra = zip64_extra({entry.size, entry.packed_size});
  std::string out;
  append_u32(out, kZipLocalSignature);
  append_common(out, entry, extra);
  return out + entry.name + extra;
}

std::string central_header(const ZipEntry& entry) {
  const std::string extra = zip64_extra({entry.size, entry.packed_size, entry.offset});
  std::string out;
  append_u32(out, kZipCentralSignature);
  append_u16(out, kUnix | (extra.empty() ? kVersion : kVersion64));
  append_common(out, entry, extra);
  append_u16(out, 0);  // comment
  append_u16(out, 0);  // disk
  append_u16(out, 0);  // internal attributes
  append_u32(out, kPlainFile);
  append_u32(out, or_mark(entry.offset));
  return out + entry.name + extra;
}

// The records after a directory of `size` bytes at `offset`.
std::string end_records(std::uint64_t entries, std::uint64_t offset, std::uint64_t size) {
  std::string out;
  if (entries >= kZip64Mark16 || needs_zip64(offset) || needs_zip64(size)) {
    append_u32(out, kZip64EndSignature);
    append_u64(out, kZip64EndSize - 12);  // less this field and those before
    append_u16(out, kVersion64);
    append_u16(out, kVersion64);
    append_u32(out, 0);  // disks
    append_u32(out, 0);
    append_u64(out, entries);
    append_u64(out, entries);
    append_u64(out, size);
    append_u64(out, offset);
    append_u32(out, kZip64LocatorSignature);
    append_u32(out, 0);
    append_u64(out, offset + size);
    append_u32(out, 1);
  }
  const auto count = static_cast<std::uint16_t>(std::min<std::uint64_t>(entries, kZip64Mark16));
  append_u32(out, kZipEndSignature);
  append_u16(out, 0);  // disks
  append_u16(out, 0);
  append_u16(out, count);
  append_u16(out, count);
  append_u32(out, or_mark(size));
  append_u32(out, or_mark(offset));
  append_u16(out, 0);  // comment
  return out;
}

}  // namespace

Status ZipWriter::add(const std::string& name,
                      std::initializer_list<std::span<const std::byte>> parts) {
  if (name.size() > std::numeric_limits<std::uint16_t>::max()) {
    return Error{ErrorCode::kContract, "the name " + in_quotes(name) + " has " +
                                           std::to_string(name.size()) +
                                           " bytes; a zip file allows 65535"};
  }
  ZipEntry entry{
      .name = name, .deflated = false, .crc = 0, .packed_size = 0, .size = 0, .offset = position_};
  uLong crc = 0;
  for (const std::span<const std::byte> part : parts) {
    entry.size += part.size();
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
  }
  entry.packed_size = entry.size;
  entry.crc = static_cast<std::uint32_t>(crc);
  const std::string header = local_header(entry);
  entries_.push_back(std::move(entry));
  if (Status status = write(std::as_bytes(std::span(header))); !status) return status;
  for (const std::span<const std::byte> part : parts) {
    if (Status status = write(part); !status) return status;
  }
  return {};
}

Status ZipWriter::finish() {
  std::string directory;
  for (const ZipEntry& entry : entries_) directory += central_header(entry);
  directory += end_records(entries_.size(), position_, directory.size());
  return write(std::as_bytes(std::span(directory)));
}

Status ZipWriter::write(std::span<const std::byte> bytes) {
  position_ += bytes.size();
  return file_.write(bytes);
}

}  // namespace polystate
