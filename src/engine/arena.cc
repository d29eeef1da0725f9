#include "engine/arena.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "core/file.h"
#include "polystate/core/result.h"

namespace polystate {
namespace {

constexpr std::size_t kPaddingBytes = 4096;

}  // namespace

Result<Arena> Arena::create(std::size_t bytes) {
  void* const data = mmap(nullptr, bytes + kPaddingBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return Error{ErrorCode::kEngine, "cannot reserve " + std::to_string(bytes) +
                                         " bytes of memory: " + errno_text(errno)};
  }
  return Arena(static_cast<std::byte*>(data), bytes);
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Arena::~Arena() {
  if (data_ != nullptr) {
    munmap(data_, size_ + kPaddingBytes);
  }
}

void Arena::clear() {
  if (madvise(data_, size_ + kPaddingBytes, MADV_DONTNEED) != 0) {  // locked memory, say
    std::memset(data_, 0, size_);
  }
}

}  // namespace polystate
