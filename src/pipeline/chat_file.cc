#include "pipeline/chat_file.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
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

struct ChatHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t zero;
  Sha256 model;
  std::uint64_t document_size;  // bytes
  std::uint64_t state_size;
};
static_assert(sizeof(ChatHeader) == 64 && std::is_trivially_copyable_v<ChatHeader>);

constexpr std::array<char, 8> kChatMagic = {'p', 'o', 'l', 'y', 'c', 'h', 'a', 't'};
constexpr std::uint32_t kChatVersion = 1;

Error damaged_chat(const InputFile& file, const std::string& what) {
  return Error{ErrorCode::kArtifact, "saved conversation " + file.shown_name() + ": " + what};
}

// The header of bytes that have one, with sizes that are theirs.
Result<ChatHeader> header_of(const InputFile& file, std::span<const std::byte> bytes) {
  ChatHeader header{};
  if (bytes.size() < offsetof(ChatHeader, zero)) return damaged_chat(file, "is too short");
  std::memcpy(&header, bytes.data(), offsetof(ChatHeader, zero));
  if (header.magic != kChatMagic) return damaged_chat(file, "is no saved conversation");
  // What follows in an unknown version is not for this reader to say.
  if (header.version > kChatVersion) {
    return Error{ErrorCode::kUnsupported, "saved conversation " + file.shown_name() +
                                              ": has version " + std::to_string(header.version) +
                                              ", made by a newer polystate: this one reads " +
                                              "version " + std::to_string(kChatVersion)};
  }
  if (bytes.size() < sizeof(ChatHeader) + sizeof(Sha256)) return damaged_chat(file, "is too short");
  std::memcpy(&header, bytes.data(), sizeof(ChatHeader));
  const std::uint64_t content = bytes.size() - sizeof(ChatHeader) - sizeof(Sha256);
  if (header.version != kChatVersion || header.zero != 0 || header.document_size > content ||
      header.state_size != content - header.document_size) {
    return damaged_chat(file,
                        "its header does not fit its " + std::to_string(bytes.size()) + " bytes");
  }
  return header;
}

}  // namespace

Status write_chat_file(const std::filesystem::path& path, const Sha256& model,
                       const ChatFile& content) {
  const ChatHeader header{kChatMagic,          kChatVersion, 0, model, content.document.size(),
                          content.state.size()};
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file) return file.error();
  Sha256Hasher hasher;
  for (const std::span<const std::byte> part :
       {std::as_bytes(std::span(&header, 1)), std::as_bytes(std::span(content.document)),
        std::span<const std::byte>(content.state)}) {
    hasher.update(part);
    if (Status written = file->write(part); !written) return written;
  }
  const Result<Sha256> digest = hasher.finish();
  if (!digest) return digest.error();
  if (Status written = file->write(*digest); !written) return written;
  return file->commit();
}

Result<ChatFile> read_chat_file(const std::filesystem::path& path, const Sha256& model) {
  const Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  const Result<std::vector<std::byte>> read =
      read_file(*file, std::numeric_limits<std::uint64_t>::max());
  if (!read) return read.error();
  const std::span<const std::byte> bytes = *read;
  const Result<ChatHeader> header = header_of(*file, bytes);
  if (!header) return header.error();
  const Result<Sha256> digest = sha256_of(bytes.first(bytes.size() - sizeof(Sha256)));
  if (!digest) return digest.error();
  if (std::memcmp(digest->data(), bytes.last(sizeof(Sha256)).data(), sizeof(Sha256)) != 0)
    return damaged_chat(*file, "the bytes do not have the recorded digest");
  if (header->model != model) {
    return Error{ErrorCode::kContract, "saved conversation " + file->shown_name() +
                                           ": is of another model: its artifact's SHA-256 is " +
                                           to_hex(header->model) + ", this one's is " +
                                           to_hex(model)};
  }
  const auto document = bytes.subspan(sizeof(ChatHeader), header->document_size);
  const auto state = bytes.subspan(sizeof(ChatHeader) + document.size(), header->state_size);
  return ChatFile{{reinterpret_cast<const char*>(document.data()), document.size()},
                  {state.begin(), state.end()}};
}

}  // namespace polystate
