#include "artifact/zip_reader.h"

#include <zconf.h>
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/little_endian.h"
#include "artifact/zip_format.h"
#include "core/names.h"
#include "core/text.h"
#include "core/utf8.h"
#include "polystate/core/dtype.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"

namespace polystate {
namespace {

using Bytes = std::span<const std::byte>;

Error damaged(const std::string& what) {
  return {ErrorCode::kContract, "damaged zip file: " + what};
}

Error damaged(const ZipEntry& entry, const std::string& what) {
  return {ErrorCode::kContract, "damaged zip file: " + in_quotes(entry.name) + ": " + what};
}

// Where the central directory lies, and how many entries it has.
struct Directory {
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t entries;
  std::uint64_t end;  // of the directory: where the record that gave these numbers begins
};

// The last record, which a comment of up to 64 KiB may follow.
std::optional<std::size_t> find_end(Bytes archive) {
  if (archive.size() < kZipEndSize) return std::nullopt;
  const std::size_t last = archive.size() - kZipEndSize;
  const std::size_t first =
      last - std::min<std::size_t>(last, std::numeric_limits<std::uint16_t>::max());
  for (std::size_t at = last + 1; at-- > first;) {
    if (load_u32(archive, at) == kZipEndSignature && load_u16(archive, at + 20) == last - at) {
      return at;
    }
  }
  return std::nullopt;
}

// Whether the locator of a zip64 record stands before the last record.
bool has_zip64_locator(Bytes archive, std::size_t end) {
  return end >= kZip64LocatorSize &&
         load_u32(archive, end - kZip64LocatorSize) == kZip64LocatorSignature;
}

// The numbers of the zip64 record, which replace those of the last one.
Result<Directory> read_zip64_end(Bytes archive, std::size_t end) {
  const std::size_t locator = end - kZip64LocatorSize;
  const std::uint64_t record = load_u64(archive, locator + 8);
  if (locator < kZip64EndSize || record != locator - kZip64EndSize ||
      load_u32(archive, record) != kZip64EndSignature) {
    return damaged("its zip64 record is not where it must be");
  }
  if (load_u32(archive, record + 16) != 0 || load_u32(archive, record + 20) != 0) {
    return damaged("it is split over several disks");
  }
  return Directory{load_u64(archive, record + 48), load_u64(archive, record + 40),
                   load_u64(archive, record + 32), record};
}

Result<Directory> find_directory(Bytes archive) {
  const std::optional<std::size_t> end = find_end(archive);
  if (!end) return damaged("its end is missing");
  if (load_u16(archive, *end + 4) != 0 || load_u16(archive, *end + 6) != 0) {
    return damaged("it is split over several disks");
  }
  Result<Directory> directory =
      has_zip64_locator(archive, *end)
          ? read_zip64_end(archive, *end)
          : Directory{load_u32(archive, *end + 16), load_u32(archive, *end + 12),
                      load_u16(archive, *end + 10), *end};
  if (directory &&
      (directory->size > directory->end || directory->offset != directory->end - directory->size)) {
    return damaged("its directory is not where it must be");
  }
  return directory;
}

// Sizes and offset that did not fit the entry's own fields, from its zip64 record.
Status read_zip64_extra(Bytes extra, ZipEntry& entry) {
  while (extra.size() >= 4) {
    const std::uint16_t id = load_u16(extra, 0);
    const std::size_t size = load_u16(extra, 2);
    if (size > extra.size() - 4) break;
    Bytes fields = extra.subspan(4, size);
    extra = extra.subspan(4 + size);
    if (id != kZip64ExtraId) continue;
    for (std::uint64_t* value : {&entry.size, &entry.packed_size, &entry.offset}) {
      if (*value != kZip64Mark32) continue;
      if (fields.size() < 8) return damaged(entry, "its zip64 record is too short");
      *value = load_u64(fields, 0);
      fields = fields.subspan(8);
    }
    return {};
  }
  return damaged(entry, "its zip64 record is missing");
}

Status check_entry(const ZipEntry& entry, std::uint16_t flags, std::uint16_t method) {
  const bool ascii =
      std::all_of(entry.name.begin(), entry.name.end(), [](char c) { return c >= 0; });
  if (!ascii && ((flags & kZipUtf8Flag) == 0 || !is_utf8(entry.name))) {
    return damaged(entry, "its name is not UTF-8");
  }
  if (!is_printable(entry.name)) return damaged(entry, "its name has control characters");
  if ((flags & kZipEncryptedFlag) != 0) {
    return Error{ErrorCode::kContract, in_quotes(entry.name) + " is encrypted"};
  }
  if (method != kZipStored && method != kZipDeflated) {
    return Error{ErrorCode::kContract, in_quotes(entry.name) + " is compressed by method " +
                                           std::to_string(method) +
                                           "; only stored and deflated files are read"};
  }
  if (!entry.deflated && entry.size != entry.packed_size) {
    return damaged(entry, "its two sizes differ");
  }
  return {};
}

// Reads the directory's next entry, and advances `directory`.
Result<ZipEntry> read_central(Bytes& directory) {
  if (directory.size() < kZipCentralSize || load_u32(directory, 0) != kZipCentralSignature) {
    return damaged("its directory ends too early");
  }
  const std::size_t name = load_u16(directory, 28);
  const std::size_t extra = load_u16(directory, 30);
  const std::size_t total = kZipCentralSize + name + extra + load_u16(directory, 32);
  if (total > directory.size()) return damaged("its directory ends too early");
  const std::uint16_t method = load_u16(directory, 10);
  ZipEntry entry{
      .name = {reinterpret_cast<const char*>(directory.data()) + kZipCentralSize, name},
      .deflated = method == kZipDeflated,
      .crc = load_u32(directory, 16),
      .packed_size = load_u32(directory, 20),
      .size = load_u32(directory, 24),
      .offset = load_u32(directory, 42),
  };
  if (entry.packed_size == kZip64Mark32 || entry.size == kZip64Mark32 ||
      entry.offset == kZip64Mark32) {
    const Status status = read_zip64_extra(directory.subspan(kZipCentralSize + name, extra), entry);
    if (!status) return status.error();
  }
  if (const Status status = check_entry(entry, load_u16(directory, 8), method); !status) {
    return status.error();
  }
  directory = directory.subspan(total);
  return entry;
}

// The packed bytes of an entry. Its local header must name it too; the sizes there may be left open
// and are not read.
Result<Bytes> find_data(Bytes archive, const ZipEntry& entry) {
  if (entry.offset > archive.size() || archive.size() - entry.offset < kZipLocalSize ||
      load_u32(archive, entry.offset) != kZipLocalSignature) {
    return damaged(entry, "its header is not where the directory says");
  }
  const std::size_t name = load_u16(archive, entry.offset + 26);
  const std::uint64_t start =
      entry.offset + kZipLocalSize + name + load_u16(archive, entry.offset + 28);
  if (start > archive.size() || entry.packed_size > archive.size() - start) {
    return damaged(entry, "its data ends behind the file's end");
  }
  const std::string_view local_name(
      reinterpret_cast<const char*>(archive.data()) + entry.offset + kZipLocalSize, name);
  if (local_name != entry.name) return damaged(entry, "its header names " + in_quotes(local_name));
  return archive.subspan(start, entry.packed_size);
}

// Inflates all of `packed` into exactly `out`.
bool inflate_into(Bytes packed, std::span<std::byte> out) {
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) return false;
  constexpr std::size_t kMost = 1UL << 30U;  // zlib counts in 32 bits
  int status = Z_OK;
  std::size_t read = 0;
  std::size_t written = 0;
  do {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(std::min(kMost, packed.size() - read));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = static_cast<uInt>(std::min(kMost, out.size() - written));
    const uInt in = stream.avail_in;
    const uInt room = stream.avail_out;
    status = ::inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += room - stream.avail_out;
    if (in == stream.avail_in && room == stream.avail_out && status == Z_OK) status = Z_BUF_ERROR;
  } while (status == Z_OK);
  ::inflateEnd(&stream);
  return status == Z_STREAM_END && read == packed.size() && written == out.size();
}

std::uint32_t crc_of(Bytes bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

Result<std::vector<ZipEntry>> list_zip(Bytes archive) {
  const Result<Directory> found = find_directory(archive);
  if (!found) return found.error();
  Bytes directory = archive.subspan(found->offset, found->size);
  if (found->entries > directory.size() / kZipCentralSize) {
    return damaged("its directory ends too early");
  }
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < found->entries; ++i) {
    Result<ZipEntry> entry = read_central(directory);
    if (!entry) return entry.error();
    if (!names.insert(entry->name).second) return damaged(*entry, "the name occurs twice");
    entries.push_back(*std::move(entry));
  }
  if (!directory.empty()) return damaged("its directory has more entries than it says");
  return entries;
}

Result<Tensor> read_zip_entry(Bytes archive, const ZipEntry& entry) {
  const Result<Bytes> packed = find_data(archive, entry);
  if (!packed) return packed.error();
  Result<Tensor> bytes =
      entry.deflated ? Tensor::empty(DType::kUInt8, {static_cast<std::int64_t>(entry.size)})
                     : Tensor::borrow_read_only(
                           DType::kUInt8, {static_cast<std::int64_t>(entry.size)}, packed->data());
  if (!bytes) return bytes;
  if (entry.deflated && !inflate_into(*packed, bytes->mutable_bytes())) {
    return damaged(entry, "its data does not inflate to " + std::to_string(entry.size) + " bytes");
  }
  if (crc_of(bytes->bytes()) != entry.crc) return damaged(entry, "its checksum differs");
  return bytes;
}

}  // namespace polystate
