#include "artifact/verified_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/file.h"
#include "polystate/artifact/file_bytes.h"
#include "polystate/core/result.h"
#include "polystate/core/sha256.h"

namespace polystate {
namespace {

// Bytes that are read and hashed at once.
constexpr std::size_t kChunkBytes = std::size_t{256} * 1024;
// A file so large is read by a thread of its own while it is hashed.
constexpr std::size_t kBytesWorthAThread = std::size_t{4} * 1024 * 1024;

// Pages from mmap, given back at the end.
class Pages final : public FileBytes {
 public:
  // `from_file`: a page that was dropped returns with its content.
  Pages(std::span<std::byte> bytes, bool from_file) : bytes_(bytes), from_file_(from_file) {}
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() override { ::munmap(bytes_.data(), bytes_.size()); }

  [[nodiscard]] std::span<const std::byte> bytes() const override { return bytes_; }

  void release(std::size_t offset, std::size_t size) const override {
    if (!from_file_ || offset > bytes_.size() || size > bytes_.size() - offset) return;
    // Only pages that lie in the range with all their bytes.
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t begin = (offset + page - 1) / page * page;
    const std::size_t end = (offset + size) / page * page;
    if (begin < end) ::madvise(bytes_.data() + begin, end - begin, MADV_DONTNEED);
  }

  [[nodiscard]] std::span<std::byte> mutable_bytes() const { return bytes_; }
  bool make_read_only() { return ::mprotect(bytes_.data(), bytes_.size(), PROT_READ) == 0; }

 private:
  std::span<std::byte> bytes_;
  bool from_file_;
};

Error cannot_load(const InputFile& file) {
  return {ErrorCode::kIo, "cannot load " + file.shown_name() + " (" + std::to_string(file.size()) +
                              " bytes): " + errno_text(errno)};
}

Result<std::unique_ptr<Pages>> map_pages(const InputFile& file, int protection, int flags,
                                         int descriptor) {
  const auto size = static_cast<std::size_t>(file.size());
  void* address = ::mmap(nullptr, size, protection, flags, descriptor, 0);
  if (address == MAP_FAILED) return cannot_load(file);
  return std::make_unique<Pages>(std::span(static_cast<std::byte*>(address), size),
                                 descriptor >= 0);
}

// Reads a file from its beginning, on another thread where that is worth it and can be had.
class Reading {
 public:
  Reading(const InputFile& file, std::span<std::byte> to) : file_(file), to_(to) {
    if (to.size() < kBytesWorthAThread) return;
    try {
      thread_ = std::jthread([this] { read_all(); });
    } catch (const std::system_error&) {
      thread_ = {};  // the system has no more threads
    }
  }

  // Returns the bytes from `begin` on, a chunk of them, when they are there.
  Result<std::span<const std::byte>> chunk(std::size_t begin) {
    const std::size_t end = std::min(begin + kChunkBytes, to_.size());
    if (!thread_.joinable()) {
      if (const Status status = read(begin, end); !status) return status.error();
    } else {
      std::size_t there = there_.load(std::memory_order_acquire);
      for (; there < end; there = there_.load(std::memory_order_acquire)) there_.wait(there);
      if (there == kFailed && exception_) std::rethrow_exception(exception_);
      if (there == kFailed) return status_.error();
    }
    return std::span<const std::byte>(to_).subspan(begin, end - begin);
  }

 private:
  static constexpr std::size_t kFailed = std::numeric_limits<std::size_t>::max();

  Status read(std::size_t begin, std::size_t end) const {
    return file_.read_at(begin, to_.subspan(begin, end - begin));
  }

  void read_all() {
    for (std::size_t end = 0; end < to_.size();) {
      const std::size_t begin = std::exchange(end, std::min(end + kChunkBytes, to_.size()));
      try {
        status_ = read(begin, end);
      } catch (...) {  // as where the memory for a message is not there
        exception_ = std::current_exception();
      }
      const bool is_there = status_ && !exception_;
      there_.store(is_there ? end : kFailed, std::memory_order_release);
      there_.notify_one();
      if (!is_there) return;
    }
  }

  const InputFile& file_;
  std::span<std::byte> to_;
  Status status_;
  std::exception_ptr exception_;
  std::atomic<std::size_t> there_ = 0;  // bytes that are there, or kFailed
  std::jthread thread_;                 // ends before what it uses
};

Status compare(const InputFile& file, Sha256Hasher& hasher, const Sha256& expected) {
  const Result<Sha256> digest = hasher.finish();
  if (!digest) return digest.error();
  if (*digest == expected) return {};
  return Error{ErrorCode::kArtifact, file.shown_name() + " is damaged: its SHA-256 is " +
                                         to_hex(*digest) + ", SHA256SUMS says " + to_hex(expected)};
}

}  // namespace

Status verify(const InputFile& file, const Sha256& expected) {
  std::vector<std::byte> chunk(kChunkBytes);
  Sha256Hasher hasher;
  for (std::uint64_t done = 0; done < file.size();) {
    const auto part =
        std::span(chunk).first(std::min<std::uint64_t>(kChunkBytes, file.size() - done));
    if (Status status = file.read_at(done, part); !status) return status;
    hasher.update(part);
    done += part.size();
  }
  return compare(file, hasher, expected);
}

Result<std::shared_ptr<const FileBytes>> copy_verified(const InputFile& file,
                                                       const Sha256& expected) {
  Result<std::unique_ptr<Pages>> pages =
      map_pages(file, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (!pages) return pages.error();
  const std::span<std::byte> bytes = (*pages)->mutable_bytes();
  ::madvise(bytes.data(), bytes.size(),
            MADV_HUGEPAGE);  // a wish: without huge pages it is merely slower

  Sha256Hasher hasher;
  Reading reading(file, bytes);
  for (std::size_t done = 0; done < bytes.size();) {
    const Result<std::span<const std::byte>> part = reading.chunk(done);
    if (!part) return part.error();
    hasher.update(*part);
    done += part->size();
  }
  if (const Status status = compare(file, hasher, expected); !status) return status.error();
  if (!(*pages)->make_read_only()) return cannot_load(file);
  return std::shared_ptr<const FileBytes>(*std::move(pages));
}

Result<std::shared_ptr<const FileBytes>> map_file(const InputFile& file) {
  Result<std::unique_ptr<Pages>> pages = map_pages(file, PROT_READ, MAP_PRIVATE, file.descriptor());
  if (!pages) return pages.error();
  return std::shared_ptr<const FileBytes>(*std::move(pages));
}

}  // namespace polystate
