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

#include "artifact/little_endian.h"
#include "artifact/zip_format.h"
#include "artifact/zip_reader.h"
#include "core/text.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

constexpr std::uint16_t kVersion = 20;  // of the format, that a reader must know
constexpr std::uint16_t kUnix = 3U << 8U;
constexpr std::uint32_t kPlainFile = 0100644U << 16U;
constexpr std::uint16_t kMidnight = 0;
constexpr std::uint16_t kEarliestDay = (1U << 5U) | 1U;  // 1980-01-01

// The last numbers that mean themselves.
constexpr std::uint64_t kMostBytes = kZip64Mark32 - 1;
constexpr std::size_t kMostEntries = kZip64Mark16 - 1;

std::uint16_t flags_of(const ZipEntry& entry) {
  const bool ascii =
      std::all_of(entry.name.begin(), entry.name.end(), [](char c) { return c >= 0; });
  return ascii ? 0 : kZipUtf8Flag;
}

// What a local header and an entry of the directory have in common.
void append_common(std::string& out, const ZipEntry& entry) {
  append_u16(out, kVersion);
  append_u16(out, flags_of(entry));
  append_u16(out, kZipStored);
  append_u16(out, kMidnight);
  append_u16(out, kEarliestDay);
  append_u32(out, entry.crc);
  append_u32(out, static_cast<std::uint32_t>(entry.packed_size));
  append_u32(out, static_cast<std::uint32_t>(entry.size));
  append_u16(out, static_cast<std::uint16_t>(entry.name.size()));
  append_u16(out, 0);  // extra fields
}

std::string local_header(const ZipEntry& entry) {
  std::string out;
  append_u32(out, kZipLocalSignature);
  append_common(out, entry);
  return out + entry.name;
}

std::string central_header(const ZipEntry& entry) {
  std::string out;
  append_u32(out, kZipCentralSignature);
  append_u16(out, kUnix | kVersion);
  append_common(out, entry);
  append_u16(out, 0);  // comment
  append_u16(out, 0);  // disk
  append_u16(out, 0);  // internal attributes
  append_u32(out, kPlainFile);
  append_u32(out, static_cast<std::uint32_t>(entry.offset));
  return out + entry.name;
}

// The record after a directory of `size` bytes at `offset`.
std::string end_record(std::size_t entries, std::uint64_t offset, std::uint64_t size) {
  std::string out;
  append_u32(out, kZipEndSignature);
  append_u16(out, 0);  // disks
  append_u16(out, 0);
  append_u16(out, static_cast<std::uint16_t>(entries));
  append_u16(out, static_cast<std::uint16_t>(entries));
  append_u32(out, static_cast<std::uint32_t>(size));
  append_u32(out, static_cast<std::uint32_t>(offset));
  append_u16(out, 0);  // comment
  return out;
}

Error too_large(const std::string& what) {
  return {ErrorCode::kContract, "a zip file cannot hold " + what};
}

}  // namespace

Status ZipWriter::add(const std::string& name,
                      std::initializer_list<std::span<const std::byte>> parts) {
  if (name.size() > std::numeric_limits<std::uint16_t>::max()) {
    return too_large("the name " + in_quotes(name) + " of " + std::to_string(name.size()) +
                     " bytes; the limit is 65535");
  }
  if (entries_.size() == kMostEntries) {
    return too_large("more than " + std::to_string(kMostEntries) + " arrays");
  }
  ZipEntry entry{
      .name = name, .deflated = false, .crc = 0, .packed_size = 0, .size = 0, .offset = position_};
  for (const std::span<const std::byte> part : parts) entry.size += part.size();
  entry.packed_size = entry.size;
  if (entry.size > kMostBytes - position_) {
    return too_large(in_quotes(name) + " of " + std::to_string(entry.size) +
                     " bytes: together with the arrays before it, 4 GiB is the limit");
  }
  uLong crc = 0;
  for (const std::span<const std::byte> part : parts) {
    crc = ::crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
  }
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
  if (directory.size() + position_ > kMostBytes) return too_large("more than 4 GiB");
  directory += end_record(entries_.size(), position_, directory.size());
  return write(std::as_bytes(std::span(directory)));
}

Status ZipWriter::write(std::span<const std::byte> bytes) {
  position_ += bytes.size();
  return file_.write(bytes);
}

}  // namespace polystate
