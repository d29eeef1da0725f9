#include "core/saved_file.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
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
};
static_assert(sizeof(Header) == 48 && std::is_trivially_copyable_v<Header>);

// Writes a file, and last of all the digest of what was written.
class Writer {
 public:
  explicit Writer(AtomicFile file) : file_(std::move(file)) {}

  void write(std::span<const std::byte> bytes) {
    if (!status_) return;
    hasher_.update(bytes);
    status_ = file_.write(bytes);
  }
  Status commit() {
    if (!status_) return status_;
    const Result<Sha256> digest = hasher_.finish();
    if (!digest) return digest.error();
    if (Status written = file_.write(*digest); !written) return written;
    return file_.commit();
  }

 private:
  AtomicFile file_;
  Sha256Hasher hasher_;
  Status status_;
};

// Reads a file of a kind from its beginning.
class Reader {
 public:
  Reader(InputFile file, const SavedFileKind& kind) : file_(std::move(file)), kind_(kind) {}

  // The version is judged before anything that follows it: what the rest means in an unknown one is
  // not for this reader to say.
  Result<Header> header(std::size_t sections);
  Result<std::vector<std::vector<std::byte>>> sections(std::size_t count);
  // That the file ends with the digest of what was read.
  Status check_digest();

  [[nodiscard]] Error damaged(const std::string& what) const {
    return error(ErrorCode::kArtifact, what);
  }
  [[nodiscard]] Error error(ErrorCode code, const std::string& what) const {
    return Error{code, std::string(kind_.name) + " " + file_.shown_name() + ": " + what};
  }

 private:
  Status read(std::span<std::byte> bytes) {
    if (Status done = file_.read_at(place_, bytes); !done) return done;
    hasher_.update(bytes);
    place_ += bytes.size();
    return {};
  }
  [[nodiscard]] Status check_kind(const Header& header) const;

  InputFile file_;
  const SavedFileKind& kind_;
  std::uint64_t place_ = 0;
  Sha256Hasher hasher_;
};

Status Reader::check_kind(const Header& header) const {
  const std::string version = std::to_string(header.version);
  if (header.magic != kind_.magic) return damaged(std::string("is no ") + kind_.name);
  if (header.version > kind_.version) {
    return error(ErrorCode::kUnsupported,
                 "has version " + version + ", made by a newer polystate: this one reads version " +
                     std::to_string(kind_.version));
  }
  if (header.version != kind_.version) {
    return damaged("has version " + version + ", the first one is " +
                   std::to_string(kind_.version));
  }
  return {};
}

Result<Header> Reader::header(std::size_t sections) {
  constexpr std::size_t kBeginning = offsetof(Header, zero);  // the magic and the version
  Header header{};
  const auto bytes = std::as_writable_bytes(std::span(&header, 1));
  if (file_.size() >= kBeginning) {
    if (const Status read = file_.read_at(0, bytes.first(kBeginning)); !read) return read.error();
    if (const Status fits = check_kind(header); !fits) return fits.error();
  }
  const std::uint64_t least = sizeof(Header) + sections * sizeof(std::uint64_t) + sizeof(Sha256);
  if (file_.size() < least) {
    return damaged("has " + std::to_string(file_.size()) + " bytes, at least " +
                   std::to_string(least) + " are needed");
  }
  if (const Status done = read(bytes); !done) return done.error();
  return header;
}

Result<std::vector<std::vector<std::byte>>> Reader::sections(std::size_t count) {
  std::vector<std::uint64_t> sizes(count);
  if (const Status done = read(std::as_writable_bytes(std::span(sizes))); !done)
    return done.error();
  std::uint64_t left = file_.size() - place_ - sizeof(Sha256);
  bool fit = true;
  for (const std::uint64_t size : sizes) {
    fit = fit && size <= left;
    if (fit) left -= size;
  }
  if (!fit || left != 0) {
    return damaged("has " + std::to_string(file_.size()) +
                   " bytes, not those that its header announces");
  }
  std::vector<std::vector<std::byte>> found;
  for (const std::uint64_t size : sizes) {
    found.emplace_back(size);
    if (const Status done = read(found.back()); !done) return done.error();
  }
  return found;
}

Status Reader::check_digest() {
  const Result<Sha256> digest = hasher_.finish();
  if (!digest) return digest.error();
  Sha256 stored;
  if (Status done = file_.read_at(place_, stored); !done) return done;
  return *digest == stored ? Status() : damaged("the bytes do not have the recorded digest");
}

}  // namespace

Status write_saved_file(const std::filesystem::path& path, const SavedFileKind& kind,
                        const Sha256& model, std::initializer_list<SavedSection> sections) {
  Result<AtomicFile> file = AtomicFile::create(path);
  if (!file) return file.error();
  Writer writer(*std::move(file));
  const Header header{kind.magic, kind.version, 0, model};
  writer.write(std::as_bytes(std::span(&header, 1)));
  for (const SavedSection section : sections) {
    std::uint64_t size = 0;
    for (const auto part : section) size += part.size();
    writer.write(std::as_bytes(std::span(&size, 1)));
  }
  for (const SavedSection section : sections) {
    for (const auto part : section) writer.write(part);
  }
  return writer.commit();
}

Result<std::vector<std::vector<std::byte>>> read_saved_file(const std::filesystem::path& path,
                                                            const SavedFileKind& kind,
                                                            const Sha256& model,
                                                            std::size_t count) {
  Result<InputFile> file = InputFile::open(path);
  if (!file) return file.error();
  Reader reader(*std::move(file), kind);
  const Result<Header> header = reader.header(count);
  if (!header) return header.error();
  Result<std::vector<std::vector<std::byte>>> sections = reader.sections(count);
  if (!sections) return sections;
  if (const Status whole = reader.check_digest(); !whole) return whole.error();
  if (header->zero != 0) return reader.damaged("has " + std::to_string(header->zero) + " for zero");
  if (header->model != model) {
    return reader.error(ErrorCode::kContract, "is of another model: its artifact's SHA-256 is " +
                                                  to_hex(header->model) + ", this one's is " +
                                                  to_hex(model));
  }
  return sections;
}

}  // namespace polystate
