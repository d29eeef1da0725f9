#include "session/state_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "core/atomic_file.h"
#include "core/file.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t zero;
  Sha256 model;
  std::uint64_t size;  // bytes of state
};
static_assert(sizeof(Header) == 56 && std::is_trivially_copyable_v<Header>);

constexpr std::array<char, 8> kMagic = {'p', 'o', 'l', 'y', 's', 'e', 's', 's'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kDigestBytes = sizeof(Sha256);
constexpr std::size_t kChunkBytes = 1024UL * 1024;

Error damaged(const InputFile& file, const std::string& what) {
  return Error{ErrorCode::kArtifact, "saved session " + file.shown_name() + ": " + what};
}

Status append(AtomicFile& file, Sha256Hasher& hasher, std::span<const std::byte> bytes) {
  hasher.update(bytes);
  return file.write(bytes);
}

// Checks that the file is whole, and fills `state` from what follows the header if it has as many
// bytes.
Status read_checked(const InputFile& file, const Header& header, std::span<std::byte> state) {
  Sha256Hasher hasher;
  hasher.update(std::as_bytes(std::span(&header, 1)));
  const bool keep = state.size() == header.size;
  std::vector<std::byte> chunk(keep ? 0 : std::min<std::size_t>(kChunkBytes, header.size));
  for (std::uint64_t done = 0; done < header.size;) {
    const std::size_t count = std::min<std::uint64_t>(kChunkBytes, header.size - done);
    const auto part = keep ? state.subspan(done, count) : std::span(chunk).first(count);
    if (Status read = file.read_at(sizeof(Header) + done, part); !read) {
      return read;
    }
    hasher.update(part);
    done += count;
  }
  Sha256 stored;
  if (Status read = file.read_at(sizeof(Header) + header.size, stored); !read) {
    return read;
  }
  const Result<Sha256> digest = hasher.finish();
  if (!digest) {
    return digest.error();
  }
  return *digest == stored ? Status() : damaged(file, "the bytes do not have the recorded digest");
}

// The header of a file of this version. The version is judged before anything that follows it: what
// the rest means in an unknown one is not for this reader to say.
Result<Header> read_header(const InputFile& file) {
  constexpr std::size_t kBeginning = offsetof(Header, zero);  // the magic and the version
  Header header{};
  const auto bytes = std::as_writable_bytes(std::span(&header, 1));
  if (file.size() >= kBeginning) {
    if (const Status read = file.read_at(0, bytes.first(kBeginning)); !read) {
      return read.error();
    }
    if (header.magic != kMagic) {
      return damaged(file, "is no saved session");
    }
    if (header.version > kVersion) {
      return Error{
          ErrorCode::kUnsupported,
          "saved session " + file.shown_name() + ": has version " + std::to_string(header.version) +
              ", made by a newer polystate: this one reads version " + std::to_string(kVersion)};
    }
    if (header.version != kVersion) {
      return damaged(file, "has version " + std::to_string(header.version) + ", the first one is " +
                               std::to_string(kVersion));
    }
  }
  if (file.size() < sizeof(Header) + kDigestBytes) {
    return damaged(file, "has " + std::to_string(file.size()) + " bytes, at least " +
                             std::to_string(sizeof(Header) + kDigestBytes) + " are needed");
  }
  if (const Status read = file.read_at(0, bytes); !read) {
    return read.error();
  }
  return header;
}

}  // namespace

Status write_state_file(const std::filesystem::path& path, const Sha256& model,
                        std::span<const std::span<const std::byte>> states) {
  Header header{kMagic, kVersion, 0, model, 0};
  for (const auto state : states) {
    header.size += state.size();
  }
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file) {
    return file.error();
  }
  Sha256Hasher hasher;
  Status status = append(*file, hasher, std::as_bytes(std::span(&header, 1)));
  for (std::size_t i = 0; status && i < states.size(); ++i) {
    status = append(*file, hasher, states[i]);
  }
  if (!status) {
    return status;
  }
  const Result<Sha256> digest = hasher.finish();
  if (!digest) {
    return digest.error();
  }
  status = file->write(*digest);
  return status ? file->commit() : status;
}

Result<std::vector<std::byte>> read_state_file(const std::filesystem::path& path,
                                               const Sha256& model, std::size_t size) {
  const Result<InputFile> file = InputFile::open(path);
  if (!file) {
    return file.error();
  }
  const Result<Header> header_read = read_header(*file);
  if (!header_read) {
    return header_read.error();
  }
  const Header& header = *header_read;
  if (header.size != file->size() - sizeof(Header) - kDigestBytes) {
    return damaged(*file, "has " + std::to_string(file->size()) + " bytes, not the " +
                              std::to_string(header.size) + " of state that it announces");
  }
  std::vector<std::byte> state(size);
  if (const Status whole = read_checked(*file, header, state); !whole) {
    return whole.error();
  }
  if (header.zero != 0) {
    return damaged(*file, "has " + std::to_string(header.zero) + " where version " +
                              std::to_string(kVersion) + " has 0");
  }
  if (header.model != model) {
    return Error{ErrorCode::kContract, "saved session " + file->shown_name() +
                                           ": is of another model: its artifact's SHA-256 is " +
                                           to_hex(header.model) + ", this one's is " +
                                           to_hex(model)};
  }
  if (header.size != size) {
    return damaged(*file, "has " + std::to_string(header.size) + " bytes of state, the model " +
                              std::to_string(size));
  }
  return state;
}

}  // namespace polystate
